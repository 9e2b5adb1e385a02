//! Addresses of objects of S3: `s3://bucket/key`, and those of HTTP that programs for libhdf5 use.

use url::Url;

use super::Settings;

/// Returns the bucket and the path of an object. Addresses of HTTP have the bucket before the host of Amazon
/// (`https://bucket.s3.us-east-2.amazonaws.com/key`), or else first in the path (`http://localhost:9000/bucket/key`).
pub(super) fn place(url: &Url, settings: &mut Settings) -> Option<(String, String)> {
    let host = url.host_str()?;
    if !matches!(url.scheme(), "http" | "https") {
        return Some((host.to_owned(), url.path().to_owned()));
    }
    let (bucket, region) = amazon(host).unwrap_or_default();
    if amazon(host).is_none() {
        settings.endpoint.get_or_insert_with(|| url.origin().ascii_serialization());
    }
    if let Some(region) = region {
        settings.region.get_or_insert_with(|| region.to_owned());
    }
    match bucket {
        Some(bucket) => Some((bucket.to_owned(), url.path().to_owned())),
        None => {
            let (bucket, path) = url.path().trim_start_matches('/').split_once('/')?;
            Some((bucket.to_owned(), path.to_owned()))
        }
    }
}

/// Returns the bucket and the region that a host of Amazon names.
fn amazon(host: &str) -> Option<(Option<&str>, Option<&str>)> {
    let host = host.strip_suffix(".amazonaws.com")?;
    let (bucket, service) = match host.rfind(".s3") {
        Some(at) => (Some(&host[..at]), &host[at + 1..]),
        None => (None, host),
    };
    let region = service.strip_prefix("s3")?.trim_start_matches(['.', '-']);
    Some((bucket, Some(region).filter(|region| !region.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (Option<(String, String)>, Option<String>, Option<String>) {
        let mut settings = Settings::default();
        let place = place(&Url::parse(text).unwrap(), &mut settings);
        (place, settings.endpoint, settings.region)
    }

    #[test]
    fn bucket_and_key_are_found_in_all_kinds_of_addresses() {
        let at = |bucket: &str, path: &str| Some((bucket.to_owned(), path.to_owned()));
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(of("s3://b/dir/k.h5"), (at("b", "/dir/k.h5"), None, None));
        assert_eq!(
            of("https://b.x.s3.eu-west-1.amazonaws.com/k.h5"),
            (at("b.x", "/k.h5"), None, text("eu-west-1"))
        );
        assert_eq!(of("https://b.s3.amazonaws.com/k.h5"), (at("b", "/k.h5"), None, None));
        assert_eq!(
            of("https://s3.eu-west-1.amazonaws.com/b/k.h5"),
            (at("b", "k.h5"), None, text("eu-west-1"))
        );
        assert_eq!(
            of("http://localhost:9000/b/d/k.h5"),
            (at("b", "d/k.h5"), text("http://localhost:9000"), None)
        );
        assert_eq!(of("http://localhost:9000/k.h5").0, None);
    }
}
