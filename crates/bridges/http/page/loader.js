// One request at a time for a view: a new one aborts the last, and a failure is shown over what is there.

import { isAbort } from './api.js';
import { failure } from './dom.js';

export class Loader {
  /** `host` gets the class `loading` while a request runs, and the message of a failure. */
  constructor(host) {
    this.host = host;
  }

  /** Runs `task(signal)`, then `done(answer)` unless another request has begun in the meantime. */
  async run(task, done) {
    this.stop();
    const request = new AbortController();
    this.request = request;
    this.host.classList.add('loading');
    try {
      const answer = await task(request.signal);
      if (this.request === request) done(answer);
    } catch (error) {
      if (!isAbort(error) && this.request === request) this.fail(error, () => this.run(task, done));
    } finally {
      if (this.request === request) this.host.classList.remove('loading');
    }
  }

  fail(error, retry) {
    this.message = failure(error, retry);
    this.host.append(this.message);
  }

  stop() {
    this.request?.abort();
    this.request = null;
    this.message?.remove();
    this.host.classList.remove('loading');
  }
}
