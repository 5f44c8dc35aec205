// library_thread.c: calls of the library that may start threads, or take long.
#include "bindings/postgresql/src/library_thread.h"

#include <postgres.h>

#include <miscadmin.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <storage/ipc.h>
#include <time.h>

// How soon a cancelled query is seen while a call runs.
#define LOOK_NANOSECONDS (10 * 1000 * 1000)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_came = PTHREAD_COND_INITIALIZER;
static pthread_cond_t job_ended;
static bool is_started = false;

typedef enum JobState { JOB_NONE, JOB_WAITS, JOB_ENDED } JobState;
static struct {
  JobState state;
  LibraryCall call;
  void* arguments;
  gpujoin_error* error;
  gpujoin_status status;
} job;

// What nobody waits for, the oldest first; it stays in the list until it has been given back.
typedef struct Release {
  LibraryRelease function;
  void* arguments;
  struct Release* next;
} Release;
static Release* releases = NULL;

// expected: the mutex is held, here and when it returns.
static void run_release(void) {
  Release* const first = releases;
  pthread_mutex_unlock(&mutex);
  first->function(first->arguments);
  pthread_mutex_lock(&mutex);
  releases = first->next;
  free(first);
  pthread_cond_signal(&job_ended);
}

static void* run_jobs(void* unused) {
  pthread_mutex_lock(&mutex);
  for (;;) {
    while (job.state != JOB_WAITS && releases == NULL) pthread_cond_wait(&job_came, &mutex);
    if (releases != NULL) {
      run_release();
      continue;
    }
    pthread_mutex_unlock(&mutex);
    gpujoin_status const status = job.call(job.arguments, job.error);
    pthread_mutex_lock(&mutex);
    job.status = status;
    job.state = JOB_ENDED;
    pthread_cond_signal(&job_ended);
  }
  return NULL;
}

// Those that were blocked before.
static sigset_t block_signals(void) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  return before;
}

// expected: the mutex is held.
static void wait_for_a_moment(void) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += LOOK_NANOSECONDS;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    until.tv_sec += 1;
  }
  pthread_cond_timedwait(&job_ended, &mutex, &until);
}

void await_releases(void) {
  for (;;) {
    CHECK_FOR_INTERRUPTS();
    pthread_mutex_lock(&mutex);
    bool is_over = releases == NULL;
    if (!is_over) wait_for_a_moment();
    pthread_mutex_unlock(&mutex);
    if (is_over) return;
  }
}

bool release_later(LibraryRelease function, void* arguments) {
  if (!is_started) return false;
  Release* const last = malloc(sizeof *last);
  if (last == NULL) return false;
  *last = (Release){function, arguments, NULL};
  pthread_mutex_lock(&mutex);
  Release** end = &releases;
  while (*end != NULL) end = &(*end)->next;
  *end = last;
  pthread_cond_signal(&job_came);
  pthread_mutex_unlock(&mutex);
  return true;
}

// A process whose exit destroys what the library shares must not be giving back then.
static void on_exit_of_process(int code, Datum unused) { await_releases(); }

static void start_thread(void) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&job_ended, &attributes);
  pthread_condattr_destroy(&attributes);

  sigset_t const before = block_signals();
  pthread_t thread;
  int const failed = pthread_create(&thread, NULL, run_jobs, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed != 0) {
    errno = failed;
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_RESOURCES),
                    errmsg("gpujoin: could not start a thread: %m")));
  }
  pthread_detach(thread);
  is_started = true;
  on_proc_exit(on_exit_of_process, (Datum)0);
}

gpujoin_status call_briefly(LibraryCall call, void* arguments, gpujoin_error* error) {
  sigset_t const before = block_signals();
  gpujoin_status const status = call(arguments, error);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return status;
}

gpujoin_status call_cancellably(LibraryCall call, LibraryCancel cancel, void* arguments,
                                gpujoin_error* error) {
  if (!is_started) start_thread();
  bool is_cancelled = false;
  pthread_mutex_lock(&mutex);
  job.call = call;
  job.arguments = arguments;
  job.error = error;
  job.state = JOB_WAITS;
  pthread_cond_signal(&job_came);
  while (job.state != JOB_ENDED) {
    wait_for_a_moment();
    bool const is_asked = QueryCancelPending || ProcDiePending;
    if (job.state != JOB_ENDED && is_asked && !is_cancelled) {
      cancel(arguments);
      is_cancelled = true;
    }
  }
  job.state = JOB_NONE;
  gpujoin_status const status = job.status;
  pthread_mutex_unlock(&mutex);
  return status;
}
