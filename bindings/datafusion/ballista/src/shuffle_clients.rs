//! Connections to other executors, kept for the next read of a shuffle.
//!
//! Ballista's executor has its own, which it gives to no engine but the one that it makes itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ballista_core::client::BallistaClient;
use ballista_core::client_pool::{BallistaClientPool, PooledClient};
use ballista_core::error::Result;
use ballista_core::extension::BallistaConfigGrpcEndpoint;
use ballista_core::utils::GrpcClientConfig;

type Address = (String, u16, GrpcClientConfig);
/// By address, and since when nobody has used it; the last one last.
type Idle = HashMap<Address, Vec<(Instant, BallistaClient)>>;

#[derive(Clone)]
pub struct ShuffleClients {
    idle: Arc<Mutex<Idle>>,
    kept: Duration,
}

impl std::fmt::Debug for ShuffleClients {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ShuffleClients").field("kept", &self.kept).finish_non_exhaustive()
    }
}

impl ShuffleClients {
    pub fn new(seconds: u64) -> Arc<Self> {
        Arc::new(Self { idle: Arc::default(), kept: Duration::from_secs(seconds) })
    }

    fn with_idle<T>(&self, act: impl FnOnce(&mut Idle) -> T) -> T {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|_, clients| {
            clients.retain(|(since, _)| since.elapsed() < self.kept);
            !clients.is_empty()
        });
        act(&mut idle)
    }
}

#[async_trait]
impl BallistaClientPool for ShuffleClients {
    async fn acquire(
        &self,
        host: &str,
        port: u16,
        config: &GrpcClientConfig,
        endpoint: Option<Arc<BallistaConfigGrpcEndpoint>>,
    ) -> Result<PooledClient> {
        let address = (host.to_owned(), port, config.clone());
        let client = match self.with_idle(|idle| idle.get_mut(&address).and_then(Vec::pop)) {
            Some((_, client)) => client,
            None => {
                BallistaClient::try_new(
                    host,
                    port,
                    config.max_message_size,
                    config.use_tls,
                    endpoint,
                    config.io_retries_times,
                    config.io_retry_wait_time_ms,
                    config.initial_connection_window_size,
                    config.initial_stream_window_size,
                )
                .await?
            }
        };
        let pool = self.clone();
        Ok(PooledClient::new(
            client,
            Box::new(move |client| {
                pool.with_idle(|idle| {
                    idle.entry(address).or_default().push((Instant::now(), client))
                })
            }),
        ))
    }

    async fn evict_idle(&self) {
        self.with_idle(|_| ());
    }
}
