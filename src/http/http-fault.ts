export interface HttpFaultOptions {
  readonly isTransient?: boolean | undefined;
  readonly status?: number | undefined;
  /** What the endpoint calls it: "insufficient_quota". */
  readonly reason?: string | undefined;
  readonly pauseMs?: number | undefined;
}

/** A failed request, before secrets are taken out of its message. */
export class HttpFault extends Error implements HttpFaultOptions {
  readonly isTransient: boolean;
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly pauseMs: number | undefined;

  constructor(message: string, options: HttpFaultOptions = {}) {
    super(message);
    this.isTransient = options.isTransient ?? false;
    this.status = options.status;
    this.reason = options.reason;
    this.pauseMs = options.pauseMs;
  }
}
