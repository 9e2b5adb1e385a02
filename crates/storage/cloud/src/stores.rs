//! Objects of object stores: S3, Google Cloud Storage and Azure Blob Storage.
//!
//! Credentials come from where the tools of each cloud look for them: the environment and, for S3, the shared credentials
//! file. What differs for one file stands in its location: `s3://bucket/run.h5?endpoint=http://localhost:9000`.

mod addresses;
mod aws_files;
mod configured;

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use files::{Created, Driver, DriverInfo, Handle, Mode, Target};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, S3CopyIfNotExists};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as Key;
use object_store::{
    BackoffConfig, ClientOptions, GetOptions, GetRange, ObjectStore, ObjectStoreExt, RetryConfig,
};
use system::clock::Instant;
use url::Url;

use crate::collected::{CollectedFile, Precondition};
use crate::failure::Failure;
use crate::options::{Options, PARAMETERS};
use crate::remote::RemoteFile;
use crate::source::{Fetched, Pending, Source};
use crate::{latency, runtime};

pub use configured::{ConfiguredS3Driver, S3Credentials, S3Settings};

/// Attempts of the client itself.
const RETRIES_MAX: usize = 6;

/// One object of a store.
#[derive(Debug, Clone)]
pub(crate) struct StoredObject {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) key: Key,
    /// The store compares numbers of generations, not tags, before it replaces an object.
    pub(crate) has_generations: bool,
    server: String,
    name: String,
}

/// What a location says besides bucket and key.
#[derive(Debug, Default)]
struct Settings {
    endpoint: Option<String>,
    region: Option<String>,
    is_anonymous: bool,
    /// Those of the environment, where none were given.
    credentials: Option<S3Credentials>,
}

fn wrong(problem: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem.into())
}

impl Settings {
    /// Adds what a location says.
    fn with(mut self, url: &Url) -> io::Result<Self> {
        for (key, value) in url.query_pairs() {
            match &*key {
                "endpoint" => self.endpoint = Some(value.into_owned()),
                "region" => self.region = Some(value.into_owned()),
                "anonymous" => self.is_anonymous = value == "true" || value == "1",
                other => {
                    let known = "endpoint, region, anonymous";
                    return Err(wrong(format!("a location has no setting {other}; it has {known}")));
                }
            }
        }
        Ok(self)
    }

    fn is_plain(&self) -> bool {
        self.endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://"))
    }
}

fn retry() -> RetryConfig {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(50),
        max_backoff: Duration::from_secs(5),
        ..BackoffConfig::default()
    };
    RetryConfig { backoff, max_retries: RETRIES_MAX, retry_timeout: Duration::from_secs(60) }
}

fn client_options(is_plain: bool) -> ClientOptions {
    ClientOptions::new().with_connect_timeout(Duration::from_secs(10)).with_allow_http(is_plain)
}

/// A kind of object store.
trait Service {
    /// [`StoredObject::has_generations`].
    const HAS_GENERATIONS: bool = false;

    /// Returns the bucket and the path of the object. Other addresses than `SCHEME://BUCKET/KEY` may bring settings.
    fn place(url: &Url, settings: &mut Settings) -> Option<(String, String)> {
        let _ = settings;
        Some((url.host_str()?.to_owned(), url.path().to_owned()))
    }

    fn store(bucket: &str, settings: &Settings) -> Result<Arc<dyn ObjectStore>, object_store::Error>;
}

struct S3;
struct Google;
struct Azure;

/// Returns a client with the given credentials, or with those of the environment.
fn s3_client(settings: &Settings) -> AmazonS3Builder {
    let builder = AmazonS3Builder::from_env();
    match &settings.credentials {
        Some(given) => {
            // A token of the environment belongs to other credentials.
            let builder = aws_files::without_credentials()
                .with_access_key_id(&given.access_key_id)
                .with_secret_access_key(&given.secret_access_key);
            given.session_token.iter().fold(builder, AmazonS3Builder::with_token)
        }
        None if settings.is_anonymous => builder,
        None if builder.get_config_value(&AmazonS3ConfigKey::AccessKeyId).is_some() => builder,
        None => aws_files::configure(builder),
    }
}

impl Service for S3 {
    fn place(url: &Url, settings: &mut Settings) -> Option<(String, String)> {
        addresses::place(url, settings)
    }

    fn store(bucket: &str, settings: &Settings) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
        let mut builder = s3_client(settings);
        if let Some(endpoint) = &settings.endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        if let Some(region) = &settings.region {
            builder = builder.with_region(region);
        }
        let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint).unwrap_or_default();
        let store = builder
            .with_bucket_name(bucket)
            .with_skip_signature(settings.is_anonymous)
            .with_client_options(client_options(endpoint.starts_with("http://")))
            .with_copy_if_not_exists(S3CopyIfNotExists::Multipart)
            .with_retry(retry())
            .build()?;
        Ok(Arc::new(store))
    }
}

impl Service for Google {
    const HAS_GENERATIONS: bool = true;

    fn store(bucket: &str, settings: &Settings) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
        let mut builder = GoogleCloudStorageBuilder::from_env();
        if let Some(endpoint) = &settings.endpoint {
            builder = builder.with_base_url(endpoint);
        }
        let store = builder
            .with_bucket_name(bucket)
            .with_skip_signature(settings.is_anonymous)
            .with_client_options(client_options(settings.is_plain()))
            .with_retry(retry())
            .build()?;
        Ok(Arc::new(store))
    }
}

impl Service for Azure {
    fn store(container: &str, settings: &Settings) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
        let mut builder = MicrosoftAzureBuilder::from_env();
        if let Some(endpoint) = &settings.endpoint {
            builder = builder.with_endpoint(endpoint.clone());
        }
        let store = builder
            .with_container_name(container)
            .with_skip_signature(settings.is_anonymous)
            .with_client_options(client_options(settings.is_plain()))
            .with_retry(retry())
            .build()?;
        Ok(Arc::new(store))
    }
}

/// Returns the object that a driver is asked for.
fn object<S: Service>(target: &Target<'_>) -> io::Result<StoredObject> {
    object_with::<S>(target, Settings::default())
}

/// Returns the object that a driver is asked for, with settings. Those of the location take precedence.
fn object_with<S: Service>(target: &Target<'_>, settings: Settings) -> io::Result<StoredObject> {
    let text = target.path.to_str().ok_or_else(|| wrong("a location is text"))?;
    let url = Url::parse(text).map_err(|_| wrong("a location is SCHEME://BUCKET/KEY"))?;
    let mut settings = settings.with(&url)?;
    let place = S::place(&url, &mut settings).filter(|(bucket, _)| !bucket.is_empty());
    let (bucket, path) = place.ok_or_else(|| wrong("no bucket"))?;
    let key = Key::from_url_path(path).map_err(|_| wrong("no name of an object"))?;
    if key.as_ref().is_empty() {
        return Err(wrong("a location names an object, not a bucket"));
    }
    // The store is built within the runtime, which its client belongs to.
    runtime::client()?;
    let store =
        S::store(&bucket, &settings).map_err(|error| io::Error::from(Failure::of_settings(&error)))?;
    let endpoint = settings.endpoint.as_deref().unwrap_or("");
    let server = format!("{}://{bucket}@{endpoint}", url.scheme());
    let has_generations = S::HAS_GENERATIONS;
    Ok(StoredObject { store, name: format!("{server}/{key}"), key, has_generations, server })
}

impl StoredObject {
    async fn request(&self, range: Range<u64>, version: Option<String>) -> Result<Fetched, Failure> {
        let options =
            GetOptions::new().with_range(Some(GetRange::Bounded(range.clone()))).with_if_match(version);
        let begun = Instant::now();
        let answer = match self.store.get_opts(&self.key, options).await {
            Err(error) if range.start == 0 && is_out_of_range(&error) => return self.empty().await,
            answer => answer?,
        };
        latency::note(&self.server, begun.elapsed());
        let (file_bytes, version) = (answer.meta.size, answer.meta.e_tag.clone());
        let pieces = collect(answer).await?;
        let fetched = Fetched { pieces, file_bytes, version };
        crate::source::check_complete(&fetched, &range)?;
        Ok(fetched)
    }

    /// Returns the answer for an object without bytes, of which no range can be read.
    async fn empty(&self) -> Result<Fetched, Failure> {
        let meta = self.store.head(&self.key).await?;
        match meta.size {
            0 => Ok(Fetched { pieces: Vec::new(), file_bytes: 0, version: meta.e_tag }),
            _ => Err(Failure::transient(io::ErrorKind::Other, "the store refuses to answer a range")),
        }
    }

    /// Returns the version of the object, or `None` if there is none.
    pub(crate) async fn version(&self) -> Result<Option<Option<String>>, Failure> {
        match self.store.head(&self.key).await {
            Ok(meta) => Ok(Some(meta.e_tag)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_out_of_range(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::Generic { source, .. } if source.to_string().contains("416"))
}

/// Returns the body in the pieces in which it came. An answer that breaks off is asked for again.
async fn collect(answer: object_store::GetResult) -> Result<Vec<Bytes>, Failure> {
    use futures_util::TryStreamExt;
    answer.into_stream().try_collect().await.map_err(Failure::of_body)
}

impl Source for StoredObject {
    fn get(&self, range: Range<u64>, version: Option<String>) -> Pending<'_, Fetched> {
        Box::pin(self.request(range, version))
    }

    fn server(&self) -> &str {
        &self.server
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// Opens an object: to read it by ranges, or to change a copy of it that each commit uploads.
fn open(object: StoredObject, options: &Options, mode: Mode) -> io::Result<Handle> {
    let remote = RemoteFile::open(Arc::new(object.clone()), options)?;
    match mode.is_writable() {
        true => Ok(Arc::new(CollectedFile::of_existing(object, remote))),
        false => Ok(Arc::new(remote)),
    }
}

/// Returns a new file. Nothing is in the store before its first commit.
fn create(object: StoredObject, may_exist: bool) -> io::Result<Created> {
    let precondition = if may_exist { Precondition::Nothing } else { Precondition::Absent };
    if !may_exist && runtime::wait_for(version_of(object.clone()))??.is_some() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let file = Arc::new(CollectedFile::new(object, precondition)?);
    // What is there stays until the first commit, whatever goes wrong before.
    Ok(Created { file, is_new: false })
}

async fn version_of(object: StoredObject) -> Result<Option<Option<String>>, Failure> {
    object.version().await
}

fn delete(object: StoredObject) -> io::Result<()> {
    let done = runtime::wait_for(async move {
        if object.version().await?.is_none() {
            return Err(Failure::of_status(404));
        }
        object.store.delete(&object.key).await.map_err(Failure::from)
    });
    Ok(done??)
}

macro_rules! store_driver {
    ($(#[$about:meta])* $driver:ident, $service:ident, $name:literal, [$($alias:literal),*], $text:literal) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default)]
        pub struct $driver;

        impl Driver for $driver {
            fn info(&self) -> DriverInfo {
                DriverInfo { name: $name, aliases: &[$($alias),*], about: $text, parameters: PARAMETERS }
            }

            fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
                target.parameters.only(&self.info())?;
                object::<$service>(target).map(drop)
            }

            fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
                target.parameters.only(&self.info())?;
                create(object::<$service>(target)?, may_exist)
            }

            fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
                target.parameters.only(&self.info())?;
                open(object::<$service>(target)?, &Options::of(target.parameters)?, mode)
            }

            fn delete(&self, target: &Target<'_>) -> io::Result<()> {
                delete(object::<$service>(target)?)
            }

            fn schemes(&self) -> &'static [&'static str] {
                &[$name]
            }
        }
    };
}

store_driver!(
    /// An object of S3 or of a store with its interface: `s3://bucket/run.h5`.
    S3Driver, S3, "s3", ["ros3"], "an object of S3, or of a store with its interface"
);
store_driver!(
    /// An object of Google Cloud Storage: `gs://bucket/run.h5`.
    GoogleDriver, Google, "gs", [], "an object of Google Cloud Storage"
);
store_driver!(
    /// A blob of Azure: `az://container/run.h5`.
    AzureDriver, Azure, "az", [], "a blob of Azure"
);
