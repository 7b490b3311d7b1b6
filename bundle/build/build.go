// Package build makes bundles on the connected host. It reads airgap.yaml and the facts
// of the servers, and writes a signed bundle, or reports the planned contents.
package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/delta"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/medium"
	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/bundle/plan"
	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/version"
	"airgap.dev/airgap/preflight/facts"
)

// Options are the inputs and settings of a bundle.
type Options struct {
	File     string             // path of airgap.yaml; airgap.lock is in the same directory
	Out      string             // directory of the USB drive; the bundle is written to Out/NAME; Plan does not use it
	Facts    string             // directory with the facts of the servers; "": assume a minimal installation
	Keys     program.KeyOptions // the signing keys
	PartSize string             // largest part, "4095MiB": a multiple of bundle.ChunkSize, at least bundle.MinPartSize; "": by media.gate
	Update   []string           // names to resolve again although airgap.lock has them
	Strict   bool               // fail if something may be missing on site
	// AnyFilesystem writes to a medium that the servers cannot read, because it ends at a gate.
	AnyFilesystem bool
	Delta         delta.Options         // the contents that the servers already have
	Commands      func() *cobra.Command // creates the command tree for the man pages in airgap.rpm
	Progress      ui.Progress           // receives warnings and progress
	// LimitRate limits the sum of all downloads, in bytes per second with a unit: "20MB"; "": no limit.
	LimitRate string
	Cache     string           // directory that keeps the metadata of package repositories between plans; "": none
	Now       func() time.Time // the clock; nil: time.Now

	prepare func(*fetch.Client)            // called before the first request; nil: nothing
	own     []bundle.OwnImage              // images that airgap builds; nil: the one of airgap-probe
	here    func() (program.Source, error) // the programs of airgap.rpm; nil: program.Here
	writes  bool                           // a bundle, which needs the keys
}

// UserCache is the user's directory for Options.Cache; "" without HOME.
func UserCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "airgap", "repodata")
}

func (o Options) ownImages() []bundle.OwnImage {
	if o.own != nil {
		return o.own
	}
	return []bundle.OwnImage{program.ProbeImage()}
}

func (o Options) programs() (program.Source, error) {
	if o.here != nil {
		return o.here()
	}
	return program.Here(o.Commands)
}

// decided is a plan and the inputs for writing its bundle.
type decided struct {
	cluster  *config.Cluster
	plan     *bundle.Plan
	earlier  *bundle.Earlier
	keys     *program.Keys
	partSize int64
}

// Plan resolves the contents of the bundle; it fetches no contents and writes nothing.
// If Strict fails, it returns both the proof and the error. Wrong options or files are
// a usage error (advice.IsUsage).
func Plan(ctx context.Context, o Options) (*Proof, error) {
	if o.Keys.RPM != "" { // it may need a signature, and a plan signs nothing
		o.Keys.RPM = ""
		if o.Keys.Sign == "" {
			o.Keys.Program, o.Keys.Folder = "", ""
		}
	}
	d, err := decide(ctx, o)
	if err != nil {
		return nil, errors.Join(err, d.earlier.Close())
	}
	defer d.earlier.Close()
	return ProofOf(d.plan), o.strictly(d.plan)
}

// Bundle resolves the contents of the bundle and writes airgap.lock. Then it fetches,
// writes, signs and reads back the bundle. It does not change a complete bundle. Wrong
// options or files are a usage error (advice.IsUsage).
func Bundle(ctx context.Context, o Options) (*Result, error) {
	o.writes = true
	d, err := decide(ctx, o)
	if err != nil {
		return nil, errors.Join(err, d.earlier.Close())
	}
	defer d.earlier.Close()
	if err := o.strictly(d.plan); err != nil {
		return nil, err
	}
	reportNotCarried(o.Progress, d.plan.Lock)
	if err := plan.WriteLock(plan.LockPath(o.File), d.plan); err != nil {
		return nil, err
	}
	return d.write(ctx, o)
}

func decide(ctx context.Context, o Options) (d decided, err error) {
	if err := o.Delta.Check(); err != nil {
		return d, err
	}
	var text []byte
	if _, err = partSizeFor(o.PartSize, nil); err != nil {
		return d, err
	}
	rate, err := parseRate(o.LimitRate)
	if err != nil {
		return d, err
	}
	if d.cluster, text, err = config.Load(o.File); err != nil {
		return d, config.Advise(err)
	}
	if d.partSize, err = partSizeFor(o.PartSize, d.cluster.Media.Gate); err != nil {
		return d, err
	}
	if d.keys, err = program.CheckKeys(ctx, o.Keys); err != nil {
		return d, err
	}
	if o.writes {
		if err := d.keys.NeedKeys(); err != nil {
			return d, err
		}
		if err := d.keys.CanMake(o.Keys.Dir); err != nil {
			return d, err
		}
	}
	o.Delta.Own, o.Delta.Signer = o.Keys.Dir, d.keys.OwnFingerprint()
	base, err := o.Delta.Inventory()
	if err != nil {
		return d, err
	}
	if d.earlier, err = o.Delta.OpenEarlier(); err != nil {
		return d, err
	}
	d.plan, err = plan.Make(ctx, plan.Options{
		File: o.File, Cluster: d.cluster, Text: text, Facts: o.Facts, Update: o.Update,
		Tool: "airgap " + version.String(), Own: o.ownImages(), Base: base, Earlier: d.earlier, Prepare: o.prepareClient(rate), Cache: o.Cache, Now: o.Now,
		Surveyed: func(byNode map[string]*facts.Facts) error {
			return medium.Check(ctx, o.Out, o.AnyFilesystem, readers(d.cluster, byNode), o.Progress.Say)
		},
	}, o.Progress)
	if err == nil {
		reportPlan(o.Progress, d.plan)
	}
	return d, err
}

// readers are the servers that read the medium: the first control-plane host, and without SSH all others,
// since each of them needs airgap.rpm.
func readers(c *config.Cluster, byNode map[string]*facts.Facts) (all []medium.Server) {
	for _, n := range c.Nodes {
		first := n.Name == c.Master().Name
		if first || c.SSH == nil {
			all = append(all, medium.Server{Name: n.Name, OS: c.Packages.OS, Facts: byNode[n.Name], First: first})
		}
	}
	return all
}

// parsePartSize reads the size of the parts in bytes: a multiple of the chunk size.
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
	if err := d.keys.Make(); err != nil {
		return nil, err
	}
	if err := d.plan.SignPackages(d.keys.RPM); err != nil {
		return nil, err
	}
	these, err := o.programs()
	if err != nil {
		return nil, err
	}
	stick, err := stickFiles(these, d.cluster, d.plan, d.keys)
	if err = d.keys.Pending(err); err != nil {
		return nil, err
	}
	count, err := d.plan.PartCount(d.partSize)
	if err != nil {
		return nil, err
	}
	for _, warning := range gateWarnings(d.cluster.Media.Gate, parts{d.partSize, count}, stick) {
		o.Progress.Say("%s", warning)
	}
	dir := filepath.Join(o.Out, d.plan.Name)
	report, err := bundle.Write(ctx, d.plan, dir, bundle.Options{PartSize: d.partSize, Signer: d.keys.Bundle, Stick: stick}, o.Progress)
	if err != nil {
		return nil, d.keys.Pending(err)
	}
	return &Result{
		Dir: dir, Key: d.keys.Fingerprint(), Base: d.plan.Base, Reused: d.plan.Reused(), Report: *report,
		Operators: d.plan.Operators, NotCarried: d.plan.Lock.NotCarried, lock: d.plan.Lock, keys: d.keys, approvals: d.cluster.Approval.Keys,
	}, nil
}

// Result is a bundle that was written now or was already complete.
type Result struct {
	Dir    string         `json:"dir"`
	Key    string         `json:"key"`              // fingerprint to compare on the servers
	Base   *bundle.Base   `json:"base,omitempty"`   // of a delta: the files that it omits
	Reused *bundle.Reused `json:"reused,omitempty"` // the contents from earlier bundles
	Report bundle.Report  `json:"report"`
	// Operators are the workloads that create pods, with warnings.
	Operators []operators.Operator `json:"operators,omitempty"`
	// NotCarried are the references that look like images and are not in the bundle.
	NotCarried []bundle.NotCarried `json:"notCarried,omitempty"`

	lock      bundle.Lock
	keys      *program.Keys
	approvals int // approval.keys
}

// Write reports what was written, where it is, and the next step.
func (r *Result) Write(w io.Writer) error {
	return errors.Join(r.writeReport(w), writeBase(w, r.Base), writeReused(w, r.Reused))
}

func (r *Result) writeReport(w io.Writer) error {
	if r.Report.Complete {
		fmt.Fprintf(w, "%s is already complete; nothing was written", r.Dir)
		return r.writeNext(w)
	}
	fmt.Fprintf(w, "%s: %s in %s, %s, %s, %s\n", r.Dir, ui.Size(r.Report.Size), ui.Count(r.Report.Parts, "part"),
		ui.Count(len(r.lock.Images), "image"), ui.Count(len(r.lock.Packages), "package"), ui.Count(len(r.lock.Files), "file"))
	fmt.Fprintf(w, "  wrote in %.1f s, synced in %.1f s, read back in %.1f s", r.Report.Fill.Seconds(), r.Report.Sync.Seconds(), r.Report.ReadBack.Seconds())
	fmt.Fprintf(w, "\n  packages: %s", r.lock.Proof)
	if r.Report.Kept > 0 {
		fmt.Fprintf(w, "\n  %s kept from an earlier run", ui.Size(r.Report.Kept))
	}
	return r.writeNext(w)
}

// writeNext reports the keys for the operators at the servers, and the next step.
func (r *Result) writeNext(w io.Writer) error {
	if own := r.keys.OwnFingerprint(); own != "" {
		fmt.Fprintf(w, "\n  signed with %s: pass it to airgap install with --require-key", own)
	}
	if r.approvals > 1 {
		fmt.Fprintf(w, "\n  approval.keys is %d: other persons sign with airgap sign %s", r.approvals, r.Dir)
	}
	_, err := fmt.Fprintf(w, "\n  RPM key %s: send this fingerprint to the operators at the servers, but not on the USB drive\n  next: on the servers, follow INSTALL.txt in that directory\n", r.keys.RPMFingerprint())
	return err
}

// writeReused names the contents that are from earlier bundles.
func writeReused(w io.Writer, r *bundle.Reused) error {
	if r == nil {
		return nil
	}
	_, err := fmt.Fprintf(w, "  from %s: %s (%s)\n", strings.Join(r.Bundles, ", "), ui.Count(r.Files, "file"), ui.Size(r.Bytes))
	for _, item := range r.Items {
		fmt.Fprintf(w, "    %s\n", item)
	}
	return err
}

// writeBase reports the files that a delta omits; for a complete bundle it writes
// nothing.
func writeBase(w io.Writer, b *bundle.Base) error {
	if b == nil {
		return nil
	}
	var size int64
	for _, f := range b.Files {
		size += f.Size
	}
	_, err := fmt.Fprintf(w, "  delta: without %s (%s) that the servers have from %s; a server without them refuses the delta\n",
		ui.Count(len(b.Files), "file"), ui.Size(size), strings.Join(b.Bundles, ", "))
	return err
}
