//! Schemas: the JSON Schemas of an agent's skills, read from the files that its manifest names.
//!
//! Promises: a file is read once, is inside the agent's folder (symbolic links included) and is bounded; a
//! schema that could not be that of a tool is refused when the agent is installed, not when it is called.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use agentsite_protocol::JsonMap;

use crate::manifest::SchemaEntry;
use crate::{LaunchError, Manifest};

/// Longest schema file; models read the whole of it with each list of tools.
const MAX_SCHEMA: u64 = 256 * 1024;

/// Replaces the names of schema files in a manifest by their content, and checks all schemas.
///
/// # Errors
/// [`LaunchError`] names the file or the skill, and what is wrong.
pub fn load_schemas(manifest: &mut Manifest, folder: Option<&Path>) -> Result<(), LaunchError> {
    for skill in &mut manifest.skills {
        for entry in [&mut skill.input_schema, &mut skill.output_schema].into_iter().flatten() {
            if let SchemaEntry::File(file) = entry {
                *entry = SchemaEntry::Table(read(folder, file)?);
            }
            let kind = entry.table().and_then(|schema| schema.get("type"));
            if kind.is_none_or(|kind| kind != "object") {
                let why = "must be a JSON Schema with `type = \"object\"`, because arguments have names";
                return Err(LaunchError::Setup(format!("a schema of the skill `{}` {why}", skill.id)));
            }
        }
    }
    Ok(())
}

fn read(folder: Option<&Path>, file: &str) -> Result<JsonMap, LaunchError> {
    let failed = |source| LaunchError::File { file: file.to_owned(), source };
    let text = text_of(folder.unwrap_or(Path::new(".")), file).map_err(failed)?;
    serde_json::from_str(&text)
        .map_err(|error| LaunchError::Setup(format!("the schema file {file} is not a JSON object: {error}")))
}

fn text_of(folder: &Path, file: &str) -> io::Result<String> {
    let refused = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why.to_owned());
    let home = folder.canonicalize()?;
    let path = home.join(file).canonicalize()?;
    if !path.starts_with(&home) || !path.is_file() {
        return Err(refused("this is not a file within the agent's folder"));
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_SCHEMA + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_SCHEMA {
        return Err(refused("it is larger than 256 KiB; describe less in it"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_schema(schema: &str) -> Manifest {
        let text = format!(
            "name = \"a\"\ndescription = \"Does a\"\n[[skills]]\nid = \"s\"\ndescription = \"d\"\ninput_schema = {schema}\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n"
        );
        Manifest::read(&text).unwrap()
    }

    #[test]
    fn a_schema_stands_in_the_file_or_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("in.json"), r#"{"type":"object","required":["a"]}"#).unwrap();
        let inline = r#"{ type = "object", required = ["a"] }"#;
        for written in [inline, "\"in.json\""] {
            let mut manifest = with_schema(written);
            load_schemas(&mut manifest, Some(folder.path())).unwrap();
            let schema = manifest.skills[0].input_schema.as_ref().and_then(SchemaEntry::table).unwrap();
            assert_eq!(schema["required"], serde_json::json!(["a"]), "{written}");
        }
    }

    #[test]
    fn what_can_be_no_schema_of_a_tool_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("list.json"), "[]").unwrap();
        for (written, why) in [
            (r#"{ type = "string" }"#, "type = \"object\""),
            ("\"list.json\"", "not a JSON object"),
            ("\"missing.json\"", "missing.json"),
            ("\"../../etc/passwd\"", "passwd"),
        ] {
            let mut manifest = with_schema(written);
            let error = load_schemas(&mut manifest, Some(folder.path())).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
