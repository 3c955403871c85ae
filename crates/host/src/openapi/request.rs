//! Request: the arguments of a call as an HTTP request of the API.
//!
//! Promises: every value is percent-encoded in place, so that no argument changes the path, adds a parameter
//! or a header; the request goes to the operation's own server and below its base path. Headers that carry
//! credentials or frame the message cannot be set by arguments.

use agentsite_protocol::JsonMap;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use url::Url;
use url::form_urlencoded::Serializer;

use super::credentials::{Credentials, add_cookie};
use super::operation::{BODY, Body, BodyKind, Operation, Parameter, ParameterIn};

/// Headers that an argument does not set.
const NOT_FOR_ARGUMENTS: [&str; 11] = [
    "authorization",
    "content-type",
    "content-length",
    "accept",
    "host",
    "connection",
    "cookie",
    "transfer-encoding",
    "te",
    "upgrade",
    "proxy-authorization",
];

/// A request that is ready to be sent.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
}

/// Puts a request together.
///
/// # Errors
/// A sentence for the model when an argument cannot be sent.
pub(super) fn build(
    operation: &Operation,
    arguments: &JsonMap,
    credentials: &Credentials,
) -> Result<Request, String> {
    let (mut path, mut query, mut headers) = (operation.path.clone(), Vec::new(), HeaderMap::new());
    for parameter in &operation.parameters {
        let Some(value) = arguments.get(&parameter.argument).filter(|value| !value.is_null()) else {
            continue;
        };
        match parameter.place {
            ParameterIn::Path => {
                path = path.replace(&format!("{{{}}}", parameter.name), &in_path(parameter, value));
            }
            ParameterIn::Query => query.extend(in_query(parameter, value)),
            ParameterIn::Header => put_header(&mut headers, parameter, value)?,
            ParameterIn::Cookie => {
                for (name, value) in in_query(parameter, value) {
                    add_cookie(&mut headers, &format!("{}={}", encoded(&name), encoded(&value)));
                }
            }
        }
    }
    credentials.apply(&operation.ways, &mut headers, &mut query);
    let body = match (&operation.body, arguments.get(BODY)) {
        (Some(body), Some(value)) => Some(written(body, value, &mut headers)?),
        _ => None,
    };
    Ok(Request { url: address(&operation.base, &path, &query)?, headers, body })
}

fn address(base: &Url, path: &str, query: &[(String, String)]) -> Result<Url, String> {
    if path.contains(['{', '}']) {
        return Err(format!("a part of the path {path} is missing"));
    }
    if path.split('/').any(|part| part == "." || part == "..") {
        return Err("`.` and `..` are not valid in a part of a path".into());
    }
    let mut url = base.clone();
    url.set_query(None);
    url.set_fragment(None);
    let whole = format!("{}{path}", url.path().trim_end_matches('/'));
    url.set_path(&whole);
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    Ok(url)
}

/// A value as words.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Everything but letters, digits and `-._~` as percent signs.
fn encoded(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            made.push(char::from(byte));
        } else {
            made.push_str(&format!("%{byte:02X}"));
        }
    }
    made
}

/// The values of a list, or the names and values of an object, each by itself.
fn pairs(value: &Value) -> Vec<(String, String)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), plain(value))).collect()
}

fn in_path(parameter: &Parameter, value: &Value) -> String {
    if parameter.json {
        return encoded(&value.to_string());
    }
    let name = encoded(&parameter.name);
    let (first, between) = match parameter.style.as_str() {
        "label" => (".".to_owned(), if parameter.explode { "." } else { "," }),
        "matrix" if parameter.explode => (";".to_owned(), ";"),
        "matrix" => (format!(";{name}="), ","),
        _ => (String::new(), ","),
    };
    let named = parameter.style == "matrix" && parameter.explode;
    let each: Vec<String> = match value {
        Value::Array(items) => {
            let item = |item: &Value| {
                if named { format!("{name}={}", encoded(&plain(item))) } else { encoded(&plain(item)) }
            };
            items.iter().map(item).collect()
        }
        Value::Object(_) => {
            let sign = if parameter.explode { "=" } else { "," };
            pairs(value)
                .iter()
                .map(|(name, value)| format!("{}{sign}{}", encoded(name), encoded(value)))
                .collect()
        }
        other if named => vec![format!("{name}={}", encoded(&plain(other)))],
        other => vec![encoded(&plain(other))],
    };
    first + &each.join(between)
}

fn in_query(parameter: &Parameter, value: &Value) -> Vec<(String, String)> {
    let name = &parameter.name;
    let one = |value: String| vec![(name.clone(), value)];
    if parameter.json {
        return one(value.to_string());
    }
    let between = match parameter.style.as_str() {
        "spaceDelimited" => " ",
        "pipeDelimited" => "|",
        _ => ",",
    };
    match value {
        Value::Array(items) if parameter.explode => {
            items.iter().map(|item| (name.clone(), plain(item))).collect()
        }
        Value::Array(items) => one(items.iter().map(plain).collect::<Vec<_>>().join(between)),
        Value::Object(_) if parameter.style == "deepObject" => {
            pairs(value).into_iter().map(|(field, value)| (format!("{name}[{field}]"), value)).collect()
        }
        Value::Object(_) if parameter.explode => pairs(value),
        Value::Object(_) => one(pairs(value)
            .into_iter()
            .map(|(name, value)| format!("{name},{value}"))
            .collect::<Vec<_>>()
            .join(",")),
        other => one(plain(other)),
    }
}

fn put_header(headers: &mut HeaderMap, parameter: &Parameter, value: &Value) -> Result<(), String> {
    let name: HeaderName =
        parameter.name.parse().map_err(|_| format!("`{}` is not a header", parameter.name))?;
    if NOT_FOR_ARGUMENTS.contains(&name.as_str()) {
        return Ok(());
    }
    let words = match value {
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        Value::Object(_) => pairs(value)
            .into_iter()
            .map(|(name, value)| format!("{name},{value}"))
            .collect::<Vec<_>>()
            .join(","),
        other => plain(other),
    };
    let unfit = |_| format!("`{}` contains characters that are not allowed in a header", parameter.argument);
    headers.insert(name, HeaderValue::from_str(&words).map_err(unfit)?);
    Ok(())
}

fn written(body: &Body, value: &Value, headers: &mut HeaderMap) -> Result<Bytes, String> {
    let (media_type, bytes) = match body.kind {
        BodyKind::Json => (body.media_type.clone(), value.to_string().into_bytes()),
        BodyKind::Text => (body.media_type.clone(), plain(value).into_bytes()),
        BodyKind::Form => (body.media_type.clone(), form(value)?.into_bytes()),
        BodyKind::Multipart => multipart(value)?,
    };
    let media_type = HeaderValue::from_str(&media_type)
        .map_err(|_| "the API names a media type that cannot be sent".to_owned())?;
    headers.insert(CONTENT_TYPE, media_type);
    Ok(bytes.into())
}

/// The fields of a body that is a form; a list gives a field for each of its values.
fn fields(value: &Value) -> Result<Vec<(String, String)>, String> {
    let fields = value.as_object().ok_or("`body` must be of the kind object")?;
    let mut found = Vec::new();
    for (name, value) in fields {
        match value {
            Value::Null => {}
            Value::Array(items) => found.extend(items.iter().map(|item| (name.clone(), plain(item)))),
            other => found.push((name.clone(), plain(other))),
        }
    }
    Ok(found)
}

fn form(value: &Value) -> Result<String, String> {
    Ok(Serializer::new(String::new()).extend_pairs(fields(value)?).finish())
}

fn multipart(value: &Value) -> Result<(String, Vec<u8>), String> {
    let fields = fields(value)?;
    // Randomness is not needed: the boundary only must not occur in the content.
    let is_free = |boundary: &String| {
        !fields.iter().any(|(name, value)| name.contains(boundary) || value.contains(boundary))
    };
    let boundary =
        (0_u32..).map(|number| format!("part-{number}-of-a-form")).find(is_free).unwrap_or_default();
    let mut bytes = Vec::new();
    for (name, value) in &fields {
        let name = name.replace('"', "%22").replace(['\r', '\n'], " ");
        bytes.extend(
            format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
                .into_bytes(),
        );
    }
    bytes.extend(format!("--{boundary}--\r\n").into_bytes());
    Ok((format!("multipart/form-data; boundary={boundary}"), bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn parameter(place: ParameterIn, style: &str, explode: bool) -> Parameter {
        Parameter { name: "p".into(), argument: "p".into(), place, style: style.into(), explode, json: false }
    }

    #[test]
    fn lists_and_objects_are_written_in_the_usual_styles() {
        let (list, object) = (json!(["a b", "c"]), json!({"x": 1, "y": "z"}));
        let path = |style, explode, value| in_path(&parameter(ParameterIn::Path, style, explode), value);
        assert_eq!(path("simple", false, &list), "a%20b,c");
        assert_eq!(path("simple", false, &object), "x,1,y,z");
        assert_eq!(path("simple", true, &object), "x=1,y=z");
        assert_eq!(path("label", true, &list), ".a%20b.c");
        assert_eq!(path("matrix", false, &list), ";p=a%20b,c");
        assert_eq!(path("matrix", true, &list), ";p=a%20b;p=c");
        let query = |style, explode, value| {
            let pairs = in_query(&parameter(ParameterIn::Query, style, explode), value);
            pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
        };
        assert_eq!(query("form", true, &list), "p=a b&p=c");
        assert_eq!(query("form", false, &list), "p=a b,c");
        assert_eq!(query("pipeDelimited", false, &list), "p=a b|c");
        assert_eq!(query("deepObject", true, &object), "p[x]=1&p[y]=z");
        assert_eq!(query("form", true, &object), "x=1&y=z");
        assert_eq!(query("form", false, &object), "p=x,1,y,z");
    }

    #[test]
    fn a_form_in_parts_is_bounded_by_what_is_not_in_it() {
        let (kind, bytes) = multipart(&json!({"a": "part-0-of-a-form", "b\"\r\n": [1, 2]})).unwrap();
        assert_eq!(kind, "multipart/form-data; boundary=part-1-of-a-form");
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.matches("name=\"b%22  \"").count(), 2, "{text}");
        assert!(multipart(&json!("x")).is_err());
    }

    proptest! {
        #[test]
        fn no_argument_leads_out_of_its_place(value in "\\PC*", base in "(/[a-z]{1,5}){0,2}/?") {
            let base = Url::parse(&format!("https://api.example.org{base}")).unwrap();
            let value = json!(value);
            let part = in_path(&parameter(ParameterIn::Path, "simple", false), &value);
            let pairs = in_query(&parameter(ParameterIn::Query, "form", true), &value);
            if let Ok(url) = address(&base, &format!("/pets/{part}/toys"), &pairs) {
                prop_assert_eq!(url.origin(), base.origin());
                let below = format!("{}/pets/", base.path().trim_end_matches('/'));
                prop_assert!(url.path().starts_with(&below), "{}", url);
                prop_assert!(url.path().ends_with("/toys"), "{}", url);
                prop_assert_eq!(url.path().matches('/').count(), below.matches('/').count() + 1);
                prop_assert_eq!(url.query_pairs().count(), 1);
                prop_assert!(url.fragment().is_none());
            }
        }
    }
}
