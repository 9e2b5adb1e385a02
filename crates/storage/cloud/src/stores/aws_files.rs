//! The files in which Amazon's tools keep credentials: `~/.aws/credentials` and `~/.aws/config`.

use std::collections::HashMap;
use std::path::PathBuf;

use object_store::aws::AmazonS3Builder;

/// Adds the credentials, the region and the endpoint of the profile that the environment names, or of `default`.
pub(super) fn configure(mut builder: AmazonS3Builder) -> AmazonS3Builder {
    let profile = std::env::var("AWS_PROFILE").unwrap_or_else(|_| "default".to_owned());
    let credentials = section(file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), &[&profile]);
    let in_config = format!("profile {profile}");
    let config = section(file("AWS_CONFIG_FILE", "config"), &[&in_config, &profile]);
    let value = |key: &str| credentials.get(key).or_else(|| config.get(key)).cloned();
    if let (Some(id), Some(secret)) = (value("aws_access_key_id"), value("aws_secret_access_key")) {
        builder = builder.with_access_key_id(id).with_secret_access_key(secret);
        if let Some(token) = value("aws_session_token") {
            builder = builder.with_token(token);
        }
    }
    let is_set = |name: &str| std::env::var_os(name).is_some();
    if let Some(region) = value("region").filter(|_| !is_set("AWS_REGION") && !is_set("AWS_DEFAULT_REGION")) {
        builder = builder.with_region(region);
    }
    match value("endpoint_url").filter(|_| !is_set("AWS_ENDPOINT_URL") && !is_set("AWS_ENDPOINT")) {
        Some(endpoint) => builder.with_endpoint(endpoint),
        None => builder,
    }
}

/// Returns a client with the region and the endpoint of the environment and without its credentials.
pub(super) fn without_credentials() -> AmazonS3Builder {
    let first = |names: &[&str]| names.iter().find_map(|name| std::env::var(name).ok());
    let mut builder = AmazonS3Builder::new();
    if let Some(region) = first(&["AWS_REGION", "AWS_DEFAULT_REGION"]) {
        builder = builder.with_region(region);
    }
    match first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]) {
        Some(endpoint) => builder.with_endpoint(endpoint),
        None => builder,
    }
}

fn file(variable: &str, name: &str) -> Option<String> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    let path = named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".aws").join(name)))?;
    std::fs::read_to_string(path).ok()
}

/// Returns the keys and values of the first of `sections` that a file has.
fn section(text: Option<String>, sections: &[&str]) -> HashMap<String, String> {
    let text = text.unwrap_or_default();
    let named = |name: &&str| {
        let pairs = pairs(&text, name);
        (!pairs.is_empty()).then_some(pairs)
    };
    sections.iter().find_map(named).unwrap_or_default()
}

fn pairs(text: &str, section: &str) -> HashMap<String, String> {
    let mut is_here = false;
    let mut pairs = HashMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_here = name.trim() == section;
        } else if let Some((key, value)) = line.split_once('=').filter(|_| is_here) {
            pairs.insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_of_a_profile_is_read() {
        let text = "[default]\naws_access_key_id = A\n# x\n[profile two]\nregion=eu-west-1\n";
        assert_eq!(section(Some(text.to_owned()), &["default"])["aws_access_key_id"], "A");
        assert_eq!(section(Some(text.to_owned()), &["profile two", "two"])["region"], "eu-west-1");
        assert!(section(Some(text.to_owned()), &["three"]).is_empty());
    }
}
