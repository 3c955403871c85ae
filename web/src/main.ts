// Begins: who is here, in which language, on which page.
import "./app.css";
import { mount } from "svelte";
import App from "./App.svelte";
import { listen } from "./place.svelte";
import { taste } from "./taste.svelte";

taste.show();
listen();
const target = document.getElementById("app");
if (target) mount(App, { target });
