// The time of a sound: which stretch is shown, where the line stands, what sounds there, and playing it.

import type { ArrayRef } from "../protocol";
import { clamp, reason } from "../scene/format";
import { Heard } from "../scene/heard";
import type { Scene } from "../scene/scene";
import { asState, movedSpan, type Span, shownSpan, zoomedSpan } from "../scene/soundlayout";
import { Player } from "./player";

/** So near its end a sound has been heard, in seconds. */
const END = 0.02;

/** What is told of the time. */
interface Told {
  /** The line stands elsewhere. */
  moved(): void;
  /** It is played, or no longer. */
  played(): void;
  /** It cannot be played. */
  failed(why: string): void;
  /** It can still be seen. */
  seen(): boolean;
}

export class Listening extends Heard {
  readonly player: Player | null;
  /** Where the line stands, in seconds. */
  at = 0;
  private frame = 0;

  constructor(
    scene: Scene,
    private readonly told: Told,
  ) {
    super(scene);
    const { samples, rate } = this.sound;
    this.player = samples
      ? new Player(
          () => this.bytes(samples),
          rate,
          () => this.ended(),
        )
      : null;
  }

  private async bytes(ref: ArrayRef): Promise<Uint8Array> {
    await this.scene.data.loadArray(ref);
    return this.scene.data.array(ref) as Uint8Array;
  }

  // -- the shown stretch

  private show(span: Span): void {
    this.scene.owner.set({ span: asState(span, this.sound.seconds, this.sound.heard) });
  }

  zoom(factor: number, about: number): void {
    this.show(zoomedSpan(this.span, factor, about, this.sound.seconds));
  }

  /** Closer or farther, about the line where it can be seen, else about the middle. */
  step(factor: number): void {
    const [begin, end] = this.span;
    this.zoom(factor, this.at > begin && this.at < end ? this.at : (begin + end) / 2);
  }

  /** Move a stretch by so many seconds. */
  move(from: Span, by: number): void {
    this.show(movedSpan(from, by, this.sound.seconds));
  }

  /** The model hears more than the sound, which is not shown unasked. */
  get more(): boolean {
    const { seconds, heard } = this.sound;
    return this.scene.state.span === null && shownSpan(null, seconds, heard)[1] < seconds;
  }

  /** All of the sound, or, where that is shown, all that the model hears. */
  whole(): void {
    this.scene.owner.set({ span: this.more ? [0, this.sound.seconds] : null });
  }

  // -- the line

  get playing(): boolean {
    return this.player?.playing === true;
  }

  /** Take over where a state has the line. */
  take(): boolean {
    const { time } = this.scene.state;
    if (time === null || time === this.at || this.playing) return false;
    this.at = time;
    return true;
  }

  /** Go to a time; `play`: go on from there, where the sound is here. */
  seek(time: number, play: boolean): void {
    this.at = clamp(time, 0, this.sound.seconds);
    if (this.player && (play || this.playing) && this.at < this.sound.heard) return void this.start();
    this.player?.pause();
    this.stopped();
  }

  /** Play or pause. */
  toggle(): void {
    if (!this.player) return;
    if (this.playing) {
      this.player.pause();
      return this.stopped();
    }
    if (this.at >= this.sound.heard - END) this.at = 0;
    void this.start();
  }

  private async start(): Promise<void> {
    try {
      await this.player!.play(this.at);
    } catch (error) {
      return this.told.failed(`This sound cannot be played: ${reason(error)}`);
    }
    this.told.played();
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(this.tick);
  }

  private readonly tick = (): void => {
    if (!this.playing) return;
    if (!this.told.seen()) return this.toggle();
    this.at = this.player!.time;
    const [begin, end] = this.span;
    // The stretch goes along with the sound.
    if (this.at > end || this.at < begin)
      this.show(shownSpan([this.at, this.at + end - begin], this.sound.seconds, this.sound.heard));
    this.follow();
    this.frame = requestAnimationFrame(this.tick);
  };

  private ended(): void {
    this.at = this.sound.heard;
    this.stopped();
  }

  // It stands still: that is told to the state.
  private stopped(): void {
    cancelAnimationFrame(this.frame);
    this.scene.owner.set({ time: Math.round(this.at * 1000) / 1000 });
    this.told.played();
    this.follow();
  }

  /** The line stands elsewhere: what sounds there is pointed at, where it is followed. */
  follow(): void {
    const { scene } = this;
    this.told.moved();
    scene.owner.follow(scene, this.followed(this.at));
  }

  destroy(): void {
    cancelAnimationFrame(this.frame);
    this.player?.destroy();
  }
}
