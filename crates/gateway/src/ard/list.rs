//! `GET /agents` and `GET /agents/{identifier}`: browsing entries in a fixed order, and one of them.
//!
//! Promises: the same request gives the same list while nothing changes; a page token names the last entry
//! seen, so that agents that come or go between two pages neither repeat nor hide another. An agent that is
//! not for this caller answers like one that does not exist.

use std::cmp::Ordering;
use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path as UrlPath, Query, Request, State};
use axum::response::Response;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::entry::{Entry, forms, hub_name};
use super::filter::Condition;
use super::path::publisher;
use super::token::Bond;
use super::{ARD, ArdCall, FrontState, bad, page_size, respond};
use crate::document::{Reader, json, kept};
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::hub;
use crate::route::{Route, Shape};
use crate::written;

/// Entries of a page when the caller names no number, as the specification has it.
const ENTRIES: usize = 20;

/// Most fields by which a list is sorted.
const MAX_FIELDS: usize = 4;

/// Longest identifier, in bytes: three parts of a domain's length.
const MAX_IDENTIFIER: usize = 800;

/// At most four fields by which a list is sorted, each with its direction.
const ORDER: &str = "~^((identifier|displayName|name|type|version|updatedAt|createdAt|publisher)( (ASC|DESC))?(, ?(identifier|displayName|name|type|version|updatedAt|createdAt|publisher)( (ASC|DESC))?){0,3})?$";

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        ARD.get("/agents", answer)
            .operation("listEntries", "Entries in a fixed order")
            .query(&[
                (
                    "filter",
                    "string",
                    "type = 'application/a2a-agent-card+json' AND updatedAfter > '2026-01-01'",
                ),
                ("orderBy", ORDER, "displayName, updatedAt DESC"),
                ("pageSize", "1..100", "20 when left out"),
                ("pageToken", "string", "pageToken of the page before"),
            ])
            .gives(Shape::of::<Page>()),
        ARD.get("/agents/{identifier}", show)
            .operation("getEntry", "One entry by its identifier")
            .gives("Entry"),
    ]
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EntryParams {
    #[serde(default)]
    filter: String,
    #[serde(default)]
    order_by: String,
    page_size: Option<i64>,
    page_token: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListResponse")]
struct Page {
    #[schemars(with = "Vec<written::Entry>")]
    items: Vec<Map<String, Value>>,
    total: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_token: Option<String>,
}

async fn answer(State(front): FrontState, request: Request) -> Response {
    respond(list(front, request).await)
}

async fn list(front: Arc<Front>, request: Request) -> Result<Response, Failure> {
    let (call, _) = ArdCall::enter(front, request)?;
    let Query(wanted) = Query::<EntryParams>::try_from_uri(&call.parts.uri)
        .map_err(|error| bad(format!("the query is not right: {error}")))?;
    let size = page_size(wanted.page_size, ENTRIES)?;
    let condition = match wanted.filter.trim() {
        "" => None,
        text => Some(Condition::read(text).map_err(|error| bad(error.to_string()))?),
    };
    let order = Order::read(&wanted.order_by)?;
    let bond = Bond::of(&[wanted.filter.trim(), wanted.order_by.trim()]);
    let after = bond.place(wanted.page_token.as_deref())?;
    let all = hub::all(&call.front.site, &call.caller, &call.voice.base).await?;
    let mut entries: Vec<(Vec<String>, Entry)> = all
        .iter()
        .flat_map(|listing| forms(&call.front.site, listing, &call.voice))
        .filter(|entry| condition.as_ref().is_none_or(|condition| condition.holds(entry)))
        .map(|entry| (order.key(&entry), entry))
        .collect();
    entries.sort_by(|(one, _), (other, _)| order.compare(one, other));
    let total = entries.len();
    let begin =
        after.map_or(0, |after| entries.partition_point(|(key, _)| order.compare(key, &after).is_le()));
    let page = &entries[begin..(begin + size).min(total)];
    let page_token = page.last().filter(|_| begin + size < total).map(|(key, _)| bond.token(key));
    let items = page.iter().map(|(_, entry)| entry.members.clone()).collect();
    json(StatusCode::OK, &Page { items, total, page_token })
}

/// By what a list is sorted; the identifier decides between equals.
#[derive(Debug, PartialEq, Eq)]
struct Order(Vec<(Field, bool)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Member(&'static str),
    Publisher,
    Created,
}

impl Order {
    /// Reads `displayName, updatedAt DESC`.
    fn read(text: &str) -> Result<Self, Failure> {
        let parts: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
        if parts.len() > MAX_FIELDS {
            return Err(bad(format!("orderBy: name at most {MAX_FIELDS} fields")));
        }
        let field = |part: &str| {
            let (name, direction) = part.split_once(char::is_whitespace).unwrap_or((part, "ASC"));
            let falling = match direction.trim().to_ascii_uppercase().as_str() {
                "ASC" => false,
                "DESC" => true,
                _ => return Err(bad("orderBy: put ASC or DESC behind a field")),
            };
            let field = match name {
                "identifier" => Field::Member("identifier"),
                "displayName" | "name" => Field::Member("displayName"),
                "type" => Field::Member("type"),
                "version" => Field::Member("version"),
                "updatedAt" | "updated_at" => Field::Member("updatedAt"),
                "createdAt" | "created_at" => Field::Created,
                "publisher" | "publisherId" => Field::Publisher,
                _ => {
                    return Err(bad(
                        "orderBy: there are identifier, displayName, type, version, publisher, createdAt and updatedAt",
                    ));
                }
            };
            Ok((field, falling))
        };
        parts.into_iter().map(field).collect::<Result<_, Failure>>().map(Self)
    }

    /// What an entry is sorted by, the identifier last.
    fn key(&self, entry: &Entry) -> Vec<String> {
        let text = |(field, _): &(Field, bool)| match field {
            Field::Member(name) => {
                entry.members.get(*name).and_then(Value::as_str).unwrap_or_default().to_lowercase()
            }
            Field::Publisher => publisher(entry.identifier()).to_lowercase(),
            Field::Created => entry.created.to_string(),
        };
        self.0.iter().map(text).chain([entry.identifier().to_owned()]).collect()
    }

    fn compare(&self, one: &[String], other: &[String]) -> Ordering {
        for (place, (_, falling)) in self.0.iter().enumerate() {
            let order = one.get(place).cmp(&other.get(place));
            let order = if *falling { order.reverse() } else { order };
            if order.is_ne() {
                return order;
            }
        }
        one.last().cmp(&other.last())
    }
}

async fn show(
    State(front): FrontState,
    identifier: Result<UrlPath<String>, PathRejection>,
    request: Request,
) -> Response {
    // One that is not even text is not an identifier.
    let identifier = identifier.map(|UrlPath(identifier)| identifier).unwrap_or_default();
    respond(one(front, &identifier, request).await)
}

async fn one(front: Arc<Front>, identifier: &str, request: Request) -> Result<Response, Failure> {
    let (call, _) = ArdCall::enter(front, request)?;
    if !is_air_urn(identifier) {
        return Err(bad(
            "the identifier is not a urn:air:PUBLISHER:NAMESPACE:NAME; percent-encode it as one segment",
        ));
    }
    let name = hub_name(identifier);
    let listing = hub::one(&call.front.site, &call.caller, &name, &call.voice.base).await?;
    let forms = listing.map(|listing| forms(&call.front.site, &listing, &call.voice)).unwrap_or_default();
    let Some(entry) = forms.into_iter().find(|form| form.identifier() == identifier) else {
        let sentence = "there is no entry of this identifier here; GET /agents lists those that there are";
        return Err(Failure::new(Fault::NoSuchEntry, sentence));
    };
    let changed_at = call.front.site.cards().changed_at();
    kept(&call.parts, Reader::This(&call.caller), "application/json", &entry.members, changed_at)
}

/// Whether a text is an identifier as appendix C of the specification has it.
fn is_air_urn(text: &str) -> bool {
    let of = |part: &str, more: &str| {
        !part.is_empty() && part.chars().all(|letter| letter.is_ascii_alphanumeric() || more.contains(letter))
    };
    let Some(rest) = text.strip_prefix("urn:air:").filter(|_| text.len() <= MAX_IDENTIFIER) else {
        return false;
    };
    let mut parts = rest.split(':');
    parts.next().is_some_and(|publisher| of(publisher, ".-"))
        && rest.contains(':')
        && parts.all(|part| of(part, "._-"))
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::Timestamp;
    use serde_json::json;

    use super::*;

    fn entry(id: &str, name: &str, created: i64) -> Entry {
        let members = json!({ "identifier": id, "displayName": name });
        Entry { members: members.as_object().unwrap().clone(), created: Timestamp::from_millis(created) }
    }

    #[test]
    fn a_list_is_sorted_by_several_fields_and_then_by_identifier() {
        let entries = [
            entry("urn:air:b:x:1", "One", 1),
            entry("urn:air:a:x:2", "two", 2),
            entry("urn:air:a:x:3", "one", 3),
        ];
        let sorted = |by: &str| -> Vec<char> {
            let order = Order::read(by).unwrap();
            let mut keys: Vec<Vec<String>> = entries.iter().map(|entry| order.key(entry)).collect();
            keys.sort_by(|one, other| order.compare(one, other));
            keys.iter().filter_map(|key| key.last()?.chars().last()).collect()
        };
        assert_eq!(sorted(""), ['2', '3', '1']);
        assert_eq!(sorted("displayName"), ['3', '1', '2']);
        assert_eq!(sorted("name, created_at DESC"), ['3', '1', '2']);
        assert_eq!(sorted("createdAt DESC"), ['3', '2', '1']);
        assert_eq!(sorted("publisher DESC, name"), ['1', '3', '2']);
        for bad in ["colour", "name UP", "name,name,name,name,name"] {
            assert!(Order::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn identifiers_are_those_of_the_specification() {
        for good in
            ["urn:air:acme.com:agent:assistant", "urn:air:example.com:weather-server", "urn:air:a:b.c:d_e:f"]
        {
            assert!(is_air_urn(good), "{good}");
        }
        for bad in [
            "",
            "not-a-valid-ard-urn",
            "urn:air:acme.com",
            "urn:air::x:y",
            "urn:ai:acme.com:x",
            "urn:air:a:b c",
            "urn:air:a:",
        ] {
            assert!(!is_air_urn(bad), "{bad}");
        }
    }
}
