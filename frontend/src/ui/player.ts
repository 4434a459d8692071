// Plays a sound that came with the page.

/** Samples from -1 to 1, from their bytes: 16 bits each, little-endian. */
export function samplesOf(bytes: Uint8Array): Float32Array<ArrayBuffer> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: bytes.byteLength >> 1 }, (_, place) => view.getInt16(2 * place, true) / 32768);
}

export class Player {
  private context: AudioContext | null = null;
  private buffer: AudioBuffer | null = null;
  private source: AudioBufferSourceNode | null = null;
  /** When, by the context's clock, the beginning of the sound would have been played. */
  private origin = 0;
  private from = 0;

  constructor(
    private readonly bytes: () => Promise<Uint8Array>,
    private readonly rate: number,
    /** It came to its end. */
    private readonly ended: () => void,
  ) {}

  get playing(): boolean {
    return this.source !== null;
  }

  /** The time that is heard now, in seconds. */
  get time(): number {
    if (!this.source || !this.context || !this.buffer) return this.from;
    const late = this.context.outputLatency || 0;
    return Math.min(this.buffer.duration, Math.max(this.from, this.context.currentTime - late - this.origin));
  }

  /** Play from a time on. Only after a click or a key does a browser allow it. */
  async play(from: number): Promise<void> {
    this.pause();
    this.context ??= new AudioContext();
    const { context } = this;
    const [bytes] = await Promise.all([this.buffer ? null : this.bytes(), context.resume()]);
    if (bytes) {
      const samples = samplesOf(bytes);
      this.buffer = context.createBuffer(1, Math.max(1, samples.length), this.rate);
      this.buffer.copyToChannel(samples, 0);
    }
    this.pause();
    const source = context.createBufferSource();
    source.buffer = this.buffer;
    source.connect(context.destination);
    source.onended = () => {
      if (this.source !== source) return;
      this.from = this.buffer!.duration;
      this.source = null;
      this.ended();
    };
    this.from = from;
    this.origin = context.currentTime - from;
    this.source = source;
    source.start(0, from);
  }

  /** Stop where it is. */
  pause(): void {
    const { source } = this;
    if (!source) return;
    this.from = this.time;
    this.source = null;
    source.stop();
    source.disconnect();
  }

  destroy(): void {
    this.pause();
    void this.context?.close();
    this.context = null;
  }
}
