//! Members of JSON objects: the few moves that every translation is made of.
//!
//! Promises: nothing is lost by a move except what it replaces; values other than objects and lists are left
//! alone. It is independent of any protocol's names.

use serde_json::Value;

use crate::JsonMap;

/// The object inside a value; an empty one when it is none.
pub(super) fn object(value: Value) -> JsonMap {
    match value {
        Value::Object(members) => members,
        _ => JsonMap::new(),
    }
}

/// Takes out members that are null, which both versions read as absent.
pub(super) fn drop_nulls(members: &mut JsonMap) {
    members.retain(|_, value| !value.is_null());
}

/// Gives a member another name; one that has this name already is replaced.
pub(super) fn rename(members: &mut JsonMap, from: &str, to: &str) {
    if let Some(value) = members.remove(from) {
        members.insert(to.into(), value);
    }
}

/// Changes a member that is an object.
pub(super) fn change_object(members: &mut JsonMap, name: &str, with: impl FnOnce(&mut JsonMap)) {
    if let Some(Value::Object(inner)) = members.get_mut(name) {
        with(inner);
    }
}

/// Changes each object of a member that is a list.
pub(super) fn change_each(members: &mut JsonMap, name: &str, with: impl Fn(&mut JsonMap)) {
    let items = members.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten();
    items.filter_map(Value::as_object_mut).for_each(with);
}
