//! Clusters on the loopback. However a test ends, its processes end and its folder goes.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use ballista::prelude::{SessionConfigExt, SessionContextExt};
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use gpujoin_ballista::with_gpujoin_settings;
use tempfile::TempDir;

const EXECUTOR: &str = env!("CARGO_BIN_EXE_gpujoin-ballista-executor");
const SCHEDULER: &str = env!("CARGO_BIN_EXE_gpujoin-ballista-scheduler");

/// Nothing here takes as long on a machine that is not busy.
pub const PATIENCE: Duration = Duration::from_secs(180);
/// How often it is looked whether what is waited for has happened.
const GLANCE: Duration = Duration::from_millis(20);
/// A free port may be another's before its process has it.
const ATTEMPTS: usize = 3;

/// Who says when a task goes to an executor.
const PUSHED: &str = "push-staged";
const PULLED: &str = "pull-staged";

/// A process and what it says; it is killed when this goes.
pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Process {
    /// Starts a program that ends with this test's thread, too.
    fn start(
        program: &str,
        variables: &[(&str, &str)],
        arguments: &[String],
        log: PathBuf,
    ) -> Self {
        let file = File::create(&log).unwrap();
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", program])
            .args(arguments)
            .envs(variables.iter().copied())
            .env("TMPDIR", log.parent().unwrap())
            .env_remove("RUST_LOG")
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        Self { child, log }
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

/// Waits for what `ready` says.
pub async fn wait_for(what: &str, mut ready: impl FnMut() -> bool) {
    let started = Instant::now();
    while !ready() {
        assert!(started.elapsed() < PATIENCE, "waited for {what}");
        tokio::time::sleep(GLANCE).await;
    }
}

/// What comes of something that ends.
pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it took too long")
}

/// How an executor ends that cannot begin, and what it says.
pub async fn refused(arguments: &[&str]) -> (ExitStatus, String) {
    let folder = TempDir::new().unwrap();
    let arguments: Vec<_> = arguments.iter().map(|&word| word.to_owned()).collect();
    let mut process = Process::start(EXECUTOR, &[], &arguments, folder.path().join("log"));
    wait_for("an executor's end", || process.has_ended()).await;
    (process.child.wait().unwrap(), process.log())
}

fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    // All at once: none comes twice.
    let listeners = [(); COUNT].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

/// Whether all executors are there, as the scheduler says it.
fn is_ready(port: u16) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        connection.set_read_timeout(Some(Duration::from_secs(5)))?;
        connection
            .write_all(b"GET /readyz HTTP/1.1\r\nHost: ready\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

/// As many partitions as the executors have cores.
fn config() -> SessionConfig {
    SessionConfig::new_with_ballista().with_target_partitions(4)
}

/// Has a session's joins shuffle both sides, and stay hash joins whatever their size.
pub async fn shuffle_both_sides(context: &SessionContext) {
    for setting in [
        "ballista.optimizer.broadcast_join_threshold_bytes",
        "ballista.optimizer.broadcast_join_threshold_rows",
        "ballista.optimizer.hash_join_max_build_partition_bytes",
        "datafusion.optimizer.hash_join_single_partition_threshold",
        "datafusion.optimizer.hash_join_single_partition_threshold_rows",
    ] {
        context.sql(&format!("SET {setting} = 0")).await.unwrap().collect().await.unwrap();
    }
}

/// A scheduler and two executors of two cores.
pub struct Cluster {
    pub executors: Vec<Process>,
    pub scheduler: Process,
    port: u16,
    folder: TempDir,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}{}", self.scheduler.log(), self.logs());
        }
    }
}

impl Cluster {
    /// With arguments that each executor gets.
    pub async fn start(arguments: &[&str]) -> Self {
        Self::start_with(PUSHED, &[], arguments).await
    }

    /// Executors that ask for tasks, in place of a scheduler that sends them.
    pub async fn pulling(arguments: &[&str]) -> Self {
        Self::start_with(PULLED, &[], arguments).await
    }

    /// Executors that do not find the library.
    pub async fn without_library(arguments: &[&str]) -> Self {
        Self::start_with(PUSHED, &[("GPUJOIN_LIBRARY", "there/is/none.so")], arguments).await
    }

    async fn start_with(tasks: &str, variables: &[(&str, &str)], arguments: &[&str]) -> Self {
        for _ in 0..ATTEMPTS {
            let mut cluster = Self::launch(tasks, variables, arguments);
            let mut has_ended = false;
            wait_for("a cluster", || {
                let Self { executors, scheduler, .. } = &mut cluster;
                has_ended = scheduler.has_ended() || executors.iter_mut().any(Process::has_ended);
                has_ended || is_ready(cluster.port)
            })
            .await;
            if !has_ended {
                return cluster;
            }
            println!("{}", cluster.logs());
        }
        panic!("no cluster began");
    }

    fn launch(tasks: &str, variables: &[(&str, &str)], arguments: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let words = |text: String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let [port, ports @ ..] = free_ports::<7>();
        let scheduler = words(format!(
            "--bind-host 127.0.0.1 --bind-port {port} --min-ready-executors 2 \
             --scheduler-policy {tasks} --task-distribution round-robin \
             --executor-timeout-seconds 60 --expire-dead-executor-interval-seconds 1"
        ));
        let log = folder.path().join("scheduler.log");
        let scheduler = Process::start(SCHEDULER, &[], &scheduler, log);
        let executors = ports.chunks(3).enumerate().map(|(number, ports)| {
            let work = folder.path().join(format!("work-{number}"));
            std::fs::create_dir(&work).unwrap();
            let mut words = words(format!(
                "--scheduler-host 127.0.0.1 --scheduler-port {port} --bind-host 127.0.0.1 \
                 --external-host 127.0.0.1 --bind-port {} --bind-grpc-port {} \
                 --bind-health-port {} --scheduler-connect-timeout-seconds 60 --vcores 2 \
                 --task-scheduling-policy {tasks} \
                 --executor-heartbeat-interval-seconds 1 --work-dir {} \
                 --log-level-setting \
                 INFO,gpujoin_ballista=debug,ballista_executor::execution_engine=debug",
                ports[0],
                ports[1],
                ports[2],
                work.display()
            ));
            words.extend(arguments.iter().map(|&word| word.to_owned()));
            let log = folder.path().join(format!("executor-{number}.log"));
            Process::start(EXECUTOR, variables, &words, log)
        });
        Self { executors: executors.collect(), scheduler, port, folder }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A client's session, with settings of joins.
    pub async fn session(&self) -> SessionContext {
        self.session_of(with_gpujoin_settings(config())).await
    }

    /// One that knows nothing of them.
    pub async fn plain_session(&self) -> SessionContext {
        self.session_of(config()).await
    }

    async fn session_of(&self, config: SessionConfig) -> SessionContext {
        let state = SessionStateBuilder::new().with_default_features().with_config(config).build();
        let url = format!("df://127.0.0.1:{}", self.port);
        SessionContext::remote_with_state(&url, state).await.unwrap()
    }

    /// What the executors said, one after the other.
    pub fn logs(&self) -> String {
        self.executors.iter().map(Process::log).collect()
    }

    /// Of the tasks' joins: those that were taken, and those that were left.
    pub fn decisions(&self) -> (Vec<String>, Vec<String>) {
        let logs = self.logs();
        let lines = |what| logs.lines().filter(move |line| line.contains(what)).map(str::to_owned);
        (lines(", taken: HashJoinExec").collect(), lines(", left: HashJoinExec").collect())
    }
}
