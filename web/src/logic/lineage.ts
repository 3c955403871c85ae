// A task and the tasks that it started: as a tree to read, and as a graph to look at. Pure; the layout is dagre's.
import type { TaskRow } from "../api/client";

export interface Branch {
  task: TaskRow;
  started: Branch[];
}

/** The tree below the first task; a task whose parent is not told hangs at the root. */
export function treeOf(tasks: readonly TaskRow[]): Branch | undefined {
  const [first] = tasks;
  if (!first) return undefined;
  const branches = new Map<string, Branch>(tasks.map((task) => [task.id, { task, started: [] }]));
  const root = branches.get(first.id) as Branch;
  for (const branch of branches.values()) {
    if (branch === root) continue;
    (branches.get(branch.task.parent ?? "") ?? root).started.push(branch);
  }
  return root;
}

export interface Edge {
  from: string;
  to: string;
}

export function edgesOf(tasks: readonly TaskRow[]): Edge[] {
  const known = new Set(tasks.map((task) => task.id));
  return tasks.slice(1).map((task) => ({ from: task.parent && known.has(task.parent) ? task.parent : (tasks[0]?.id ?? ""), to: task.id }));
}
