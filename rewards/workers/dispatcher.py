"""The thread that gives tasks to workers, and kills and replaces them. No other thread touches processes."""

from __future__ import annotations

import os
import selectors
import threading
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

from rewards.workers import verdicts
from rewards.workers.job import Job
from rewards.workers.outcome import Ended, Outcome
from rewards.workers.process import Process
from rewards.workers.protocol import Answer, Death, Hello
from rewards.workers.queue import JobQueue, Waker
from rewards.workers.settings import Settings
from rewards.workers.template import Template

__all__ = ["Dispatcher"]

_ATTEMPTS = 2
_BOOT_ATTEMPTS = 3
_MOST_AHEAD = 16
"""Most tasks sent to a worker before it has answered the first: they spare a round trip while all tasks are quick."""
_QUICK_S, _SLOW_S = 0.000_5, 0.002
_LONGEST_S = 3_600.0


class Dispatcher:
    """Runs the workers of one pool in one process.

    Attributes:
        pid: The process it belongs to.
        queue: Where callers leave jobs.
        processes: The workers.
        restarts: How many workers were replaced, by cause.
        completed: How many jobs ended.
    """

    def __init__(self, settings: Settings) -> None:
        """Start the thread, which starts the processes."""
        self.pid = os.getpid()
        self._settings = settings
        self._waker = Waker()
        self.queue = JobQueue(settings.queue_size, self._waker.poke)
        self.processes: list[Process] = []
        self.restarts: Counter[str] = Counter()
        self.completed = 0
        self._template: Template | None = None
        self._failures = 0
        self._not_before = 0.0
        self._ahead = 1
        self._closing = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._waker.fd, selectors.EVENT_READ, self._waker.drain)
        self._thread = threading.Thread(target=self._run, name=f"pool-{settings.name}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End every process; jobs that have not ended are `LOST`."""
        self._closing = True
        self._waker.poke()
        # From a callback of a future, this is the dispatcher's own thread: it ends after the callback.
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def abandon(self) -> None:
        """Let go of everything, in a process forked from the one it belongs to."""
        self._waker.abandon()
        self._selector.close()
        for process in self.processes:
            process.channel.close()
        if self._template is not None:
            self._template.abandon()

    def _run(self) -> None:
        try:
            while not self._closing:
                self._staff()
                self._feed()
                for key, _ in self._selector.select(self._patience()):
                    key.data()
                self._enforce()
        finally:
            self._shut_down()

    def _shut_down(self) -> None:
        self._closing = True
        left = [job for process in self.processes for job in process.jobs] + self.queue.close()
        for process in list(self.processes):
            self._end(process)
        if self._template is not None:
            self._template.kill()
        self._selector.close()
        self._waker.close()
        for job in left:
            job.resolve(Outcome(Ended.LOST, error="the pool was closed", attempts=job.attempts))

    # Staff: the template and the workers. ------------------------------------------------------------------------

    def _staff(self) -> None:
        """Start what is missing."""
        if self._closing or time.monotonic() < self._not_before:
            return
        if self._template is None:
            if self.queue:
                self._start_template()
        elif self._template.ready:
            while self._template is not None and len(self.processes) < self._settings.size and self._spawn():
                pass

    def _start_template(self) -> None:
        try:
            self._template = Template(self._settings)
        except OSError as error:
            self._start_failed(str(error))
        else:
            self._selector.register(self._template, selectors.EVENT_READ, self._template_spoke)

    def _template_spoke(self) -> None:
        if self._template is not None and not self._template.check():
            self._template_lost()

    def _template_lost(self) -> None:
        """Clear up after the template: its workers die with it."""
        template, self._template = self._template, None
        if template is None:
            return
        self._selector.unregister(template)
        last_words = template.kill()
        worked = any(process.ready for process in self.processes)
        for process in list(self.processes):
            self._collect(process, dead=True)
        if not worked:
            self._start_failed(last_words)

    def _spawn(self) -> bool:
        assert self._template is not None
        try:
            made = self._template.spawn()
        except OSError:
            self._template_lost()
            return False
        if made is None:
            self._start_failed("the system refused a new process")
            return False
        process = Process(*made)
        self.processes.append(process)
        self._selector.register(process.channel, selectors.EVENT_READ, partial(self._collect, process))
        return True

    def _start_failed(self, why: str) -> None:
        """Slow down, and fail what waits for workers that cannot start rather than let it wait for ever."""
        self._failures += 1
        self._not_before = time.monotonic() + min(2.0, 0.05 * 2**self._failures)
        if self._failures >= _BOOT_ATTEMPTS and not any(process.ready for process in self.processes):
            for job in self.queue.take(len(self.queue)):
                self._finish(job, Outcome(Ended.LOST, error=f"workers cannot start: {why}"))

    def _end(self, process: Process) -> Death | None:
        """Kill a worker and return how it died, if that can be known."""
        self.processes.remove(process)
        self._selector.unregister(process.channel)
        if self._template is None:
            process.channel.close()
            return None
        process.kill()
        process.channel.close()
        try:
            return self._template.bury(process.pid)
        except OSError:
            self._template_lost()
            return None

    def _replace(self, process: Process, cause: str) -> None:
        self._end(process)
        self._replaced(cause)

    def _replaced(self, cause: str) -> None:
        self.restarts[cause] += 1
        self._staff()

    # Work. -------------------------------------------------------------------------------------------------------

    def _feed(self) -> None:
        """Give jobs to workers: one each, and some ahead where there are enough for all and all are quick."""
        now = time.monotonic()
        for process in self.processes:
            waiting, held = len(self.queue), len(process.jobs)
            if not waiting:
                return
            if not process.ready or held > self._ahead // 2:
                continue
            if held and now - process.started > _SLOW_S:
                continue
            share = waiting // (4 * self._settings.size)
            jobs = self.queue.take(min(self._ahead - held, max(share, 1 - held)))
            if jobs:
                process.assign(jobs)
                self._watch(process)

    def _watch(self, process: Process) -> None:
        """Have the selector say when there is room for what could not be sent."""
        mask = selectors.EVENT_READ | (selectors.EVENT_WRITE if process.unsent else 0)
        key = self._selector.get_key(process.channel)
        if key.events != mask:
            self._selector.modify(process.channel, mask, key.data)

    def _collect(self, process: Process, *, dead: bool = False) -> None:
        """Take in what a worker said."""
        if process not in self.processes:
            return
        if process.unsent:
            process.flush()
            self._watch(process)
        messages, alive = process.receive()
        for message in messages:
            if isinstance(message, Hello):
                process.greet(message)
                self._failures = 0
            else:
                self._answered(process, message)
        if (dead or not alive) and process in self.processes:
            self._lost(process)

    def _answered(self, process: Process, answer: Answer) -> None:
        job, cpu_s, waited_s = process.answered(answer)
        took_s = answer.ran_s - waited_s
        if took_s >= _SLOW_S:
            self._ahead = 1
        elif took_s < _QUICK_S:
            self._ahead = min(_MOST_AHEAD, self._ahead + 1)
        if answer.last:
            self._replace(process, answer.last)
            self.queue.put_back(process.jobs)
        self._finish(job, verdicts.of_answer(answer, cpu_s=cpu_s, waited_s=waited_s))

    def _lost(self, process: Process) -> None:
        ran_s = time.monotonic() - process.started
        if not process.ready:
            self._start_failed("they die before they are ready")
        death = self._end(process)
        cap = self._settings.memory_bytes
        grown = (death.resident - process.baseline) / cap if cap and death is not None else 0.0
        outcome = verdicts.of_death(death, grown=grown, ran_s=ran_s)
        self._replaced("crashed" if outcome.ended is Ended.RAISED else outcome.ended.value)
        self._end_or_retry(process, outcome)

    def _enforce(self) -> None:
        """Kill workers whose task is over its deadline or cancelled."""
        now = time.monotonic()
        for process in list(self.processes):
            job = process.head
            if job is not None and job.future.cancelled():
                self._replace(process, "cancelled")
                self._end_or_retry(process, Outcome(Ended.LOST))
            elif now >= process.deadline and (job is not None or not process.ready):
                # An answer may have come while this thread had no time to look.
                self._collect(process)
                if process in self.processes and process.head is job and now >= process.deadline:
                    self._overran(process, job)
        if self._template is not None and not self._template.ready and now >= self._template.deadline:
            self._template_lost()

    def _overran(self, process: Process, job: Job | None) -> None:
        if job is None:
            self._lost(process)
            return
        used = process.overran()
        if used is None:
            return
        ran_s, cpu_s, waited_s = used
        outcome = verdicts.of_overrun(job.deadline_s, ran_s=ran_s, cpu_s=cpu_s, waited_s=waited_s)
        self._replace(process, outcome.ended.value)
        self._end_or_retry(process, outcome)

    def _end_or_retry(self, process: Process, outcome: Outcome[Any]) -> None:
        """End the job that a dead worker ran, or retry it; the jobs behind it were never begun."""
        if not process.jobs:
            return
        job = process.jobs.popleft()
        self.queue.put_back(process.jobs)
        own_doing = outcome.ended in (Ended.DEADLINE, Ended.MEMORY)
        if own_doing or job.attempts >= _ATTEMPTS or job.future.cancelled():
            self._finish(job, outcome)
        else:
            self.queue.put_back([job])

    def _finish(self, job: Job, outcome: Outcome[Any]) -> None:
        self.completed += not job.future.cancelled()
        job.resolve(replace(outcome, queued_s=job.queued_s, attempts=job.attempts))

    def _patience(self) -> float | None:
        """Return how long to wait for something to happen."""
        times = [process.deadline for process in self.processes if process.jobs or not process.ready]
        if self._template is not None and not self._template.ready:
            times.append(self._template.deadline)
        if self.queue and len(self.processes) < self._settings.size and self._not_before > time.monotonic():
            times.append(self._not_before)
        return min(_LONGEST_S, max(0.0, min(times) - time.monotonic())) if times else None
