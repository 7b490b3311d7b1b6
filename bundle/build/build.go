// Package build makes bundles on the connected host: airgap.yaml and the servers' facts go in, a
// signed bundle comes out, or the proof of what it would hold.
package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/delta"
	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/bundle/plan"
	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/version"
)

// Options are what a bundle is made of, and how.
type Options struct {
	File     string                // path of airgap.yaml; airgap.lock is beside it
	Out      string                // directory of the stick: the bundle becomes Out/NAME; Plan does not use it
	Facts    string                // directory of the servers' surveys; "": a minimal installation is assumed
	Keys     string                // directory of the signing keys; those that are not there are made
	SignKey  string                // file of a key that signs instead of the one in Keys, maybe a pipe; "": none
	PartSize string                // largest part, "4095MiB": a multiple of bundle.ChunkSize, at least bundle.MinPartSize
	Update   []string              // names that are decided again, though airgap.lock has them
	Strict   bool                  // fail where something may be missing on site
	Delta    delta.Options         // what the servers have already
	Commands func() *cobra.Command // makes the tree of commands, for the manual in airgap.rpm
	Progress ui.Progress           // gets warnings, and what is under way
}

// decided is a plan, and what its bundle is written with.
type decided struct {
	cluster  *config.Cluster
	plan     *bundle.Plan
	keys     *program.Keys
	partSize int64
}

// Plan decides what the bundle would hold; it fetches and writes nothing. Where Strict fails,
// the proof comes with the error. What is wrong with options or files is a usage error
// (advice.IsUsage).
func Plan(ctx context.Context, o Options) (*Proof, error) {
	d, err := decide(ctx, o)
	if err != nil {
		return nil, err
	}
	return ProofOf(d.plan), o.strictly(d.plan)
}

// Bundle decides what the bundle holds, writes airgap.lock, and fetches, writes, signs and
// reads back the bundle. A complete bundle is left alone. What is wrong with options or files is a
// usage error (advice.IsUsage).
func Bundle(ctx context.Context, o Options) (*Result, error) {
	d, err := decide(ctx, o)
	if err == nil {
		err = o.strictly(d.plan)
	}
	if err != nil {
		return nil, err
	}
	tellNotCarried(o.Progress, d.plan.Lock)
	if err := plan.WriteLock(plan.LockPath(o.File), d.plan.Lock); err != nil {
		return nil, err
	}
	return d.write(ctx, o)
}

func decide(ctx context.Context, o Options) (d decided, err error) {
	if err := o.Delta.Check(); err != nil {
		return d, err
	}
	if d.partSize, err = parsePartSize(o.PartSize); err != nil {
		return d, err
	}
	var text []byte
	if d.cluster, text, err = config.Load(o.File); err != nil {
		return d, config.Advise(err)
	}
	if d.keys, err = program.CheckKeys(o.Keys, o.SignKey); err != nil {
		return d, err
	}
	o.Delta.Own, o.Delta.Signer = o.Keys, d.keys.OwnFingerprint()
	base, err := o.Delta.Inventory()
	if err != nil {
		return d, err
	}
	d.plan, err = plan.Make(ctx, plan.Options{
		File: o.File, Cluster: d.cluster, Text: text, Facts: o.Facts, Update: o.Update,
		Tool: "airgap " + version.String(), Own: []bundle.OwnImage{program.ProbeImage()}, Base: base,
	}, o.Progress)
	if err == nil {
		tellPlanned(o.Progress, d.plan)
	}
	return d, err
}

// parsePartSize reads the size of parts, which are whole chunks.
func parsePartSize(text string) (int64, error) {
	n, err := ui.ParseSize(text)
	if err != nil {
		return 0, advice.Usagef("--part-size %s", err)
	}
	if n < bundle.MinPartSize || n%bundle.ChunkSize != 0 {
		return 0, advice.Usagef("--part-size %q: want a multiple of 1MiB, at least 64MiB", text)
	}
	return n, nil
}

func (d decided) write(ctx context.Context, o Options) (*Result, error) {
	if err := d.keys.Make(o.Keys); err != nil {
		return nil, err
	}
	if err := d.plan.SignPackages(d.keys.RPM); err != nil {
		return nil, err
	}
	these, err := program.Here(o.Commands)
	if err != nil {
		return nil, err
	}
	stick, err := stickFiles(these, d.cluster, d.plan, d.keys)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(o.Out, d.plan.Name)
	report, err := bundle.Write(ctx, d.plan, dir, bundle.Options{PartSize: d.partSize, Signer: d.keys.Bundle, Stick: stick}, o.Progress)
	if err != nil {
		return nil, err
	}
	return &Result{
		Dir: dir, Key: bundle.Fingerprint(&d.keys.Bundle.PublicKey), Base: d.plan.Base, Report: *report,
		Operators: d.plan.Operators, NotCarried: d.plan.Lock.NotCarried, lock: d.plan.Lock, keys: d.keys,
	}, nil
}

// Result is a bundle that was written, or was complete already.
type Result struct {
	Dir    string        `json:"dir"`
	Key    string        `json:"key"`            // fingerprint, to be compared on the servers
	Base   *bundle.Base  `json:"base,omitempty"` // of a delta: what it leaves out
	Report bundle.Report `json:"report"`
	// Operators are the workloads that create pods themselves, with warnings.
	Operators []operators.Operator `json:"operators,omitempty"`
	// NotCarried is what looks like an image and is not in the bundle.
	NotCarried []bundle.NotCarried `json:"notCarried,omitempty"`

	lock bundle.Lock
	keys *program.Keys
}

// Write says what was written where, and what comes next.
func (r *Result) Write(w io.Writer) error {
	return errors.Join(r.writeReport(w), writeBase(w, r.Base))
}

func (r *Result) writeReport(w io.Writer) error {
	if r.Report.Complete {
		_, err := fmt.Fprintf(w, "%s is complete already; nothing was written\n", r.Dir)
		return err
	}
	fmt.Fprintf(w, "%s: %s in %s, %s, %s, %s\n", r.Dir, ui.Size(r.Report.Size), ui.Count(r.Report.Parts, "part"),
		ui.Count(len(r.lock.Images), "image"), ui.Count(len(r.lock.Packages), "package"), ui.Count(len(r.lock.Files), "file"))
	fmt.Fprintf(w, "  filled %.1f s, synced %.1f s, read back %.1f s", r.Report.Fill.Seconds(), r.Report.Sync.Seconds(), r.Report.ReadBack.Seconds())
	fmt.Fprintf(w, "\n  packages: %s", r.lock.Proof)
	if r.Report.Kept > 0 {
		fmt.Fprintf(w, "\n  %s were there already", ui.Size(r.Report.Kept))
	}
	if own := r.keys.OwnFingerprint(); own != "" {
		fmt.Fprintf(w, "\n  signed with %s: airgap install --require-key holds to it", own)
	}
	_, err := fmt.Fprintf(w, "\n  RPM key %s: give this to the people at the servers on another way than the stick\n  next: INSTALL.txt in that directory says what to do on the servers\n", r.keys.RPMFingerprint())
	return err
}

// writeBase says what a delta leaves out; nothing of a whole bundle.
func writeBase(w io.Writer, b *bundle.Base) error {
	if b == nil {
		return nil
	}
	var size int64
	for _, f := range b.Files {
		size += f.Size
	}
	_, err := fmt.Fprintf(w, "  delta: %s (%s) are left out, for the servers have them by %s; where they do not, it is refused\n",
		ui.Count(len(b.Files), "file"), ui.Size(size), strings.Join(b.Bundles, ", "))
	return err
}
