// Package inspect shows the contents of a bundle and checks whether it is complete.
package inspect

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/papers"
	"airgap.dev/airgap/bundle/plan"
	"airgap.dev/airgap/bundle/sidefiles"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// Options name the bundle and the depth of the check.
type Options struct {
	Dir      string   // of the bundle
	Keys     []string // files or fingerprints: one of these keys must have signed the bundle; none: the keys that this host trusts
	Full     bool     // read and compare every byte
	List     bool     // Write lists each image, package and file
	Hashes   bool     // Write prints only the hashes of the files in the parts, for sha256sum -c
	Progress ui.Progress
}

// Contents are the contents of a bundle.
type Contents struct {
	*bundle.Index

	// Renamed are the names in the directory that differ from the bundle's.
	Renamed []string          `json:"renamed,omitempty"`
	Altered sidefiles.Altered `json:"altered,omitempty"` // documentation that is missing or altered
	Signers []string          `json:"signers"`           // fingerprints of the accepted keys that signed the bundle

	full, list, hashes bool
}

// Bundle checks the signature, the index, the sizes of all parts of a bundle, and every byte
// of the files next to the parts; with Full it also reads every byte of the parts. The error
// names the damaged file or the key that signed the bundle. Altered documentation is no error.
func Bundle(ctx context.Context, o Options) (*Contents, error) {
	if info, err := os.Stat(o.Dir); err == nil && info.Mode().IsRegular() {
		return ofLock(o)
	}
	b, t, err := site.Open(o.Dir, o.Keys)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	altered, err := check(ctx, b, o)
	if err != nil {
		return nil, err
	}
	var signers []string
	for _, key := range b.Signers(t.Keys...) {
		signers = append(signers, bundle.Fingerprint(key))
	}
	return &Contents{Index: b.Index(), Renamed: b.Renamed(), Altered: altered, Signers: signers, full: o.Full, list: o.List, hashes: o.Hashes}, nil
}

// check reads the files next to the parts, and with Full the parts at the same time.
func check(ctx context.Context, b *bundle.Bundle, o Options) (altered sidefiles.Altered, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		altered, err = sidefiles.Check(b)
		return err
	})
	if o.Full {
		group.Go(func() error { return b.Verify(ctx, o.Progress) })
	}
	return altered, group.Wait()
}

// ofLock are the contents of airgap.lock: the hashes that are known before the trip.
func ofLock(o Options) (*Contents, error) {
	if !o.Hashes || o.Full || o.List {
		return nil, advice.Usagef("airgap inspect %s: it is a file: give the directory of a bundle, or --hashes for the hashes in airgap.lock", o.Dir)
	}
	lock, err := plan.ReadLock(o.Dir)
	if err != nil {
		return nil, err
	}
	return &Contents{Index: &bundle.Index{Lock: *lock}, hashes: true}, nil
}

// Write prints the totals of the bundle, and with List each item.
func (c *Contents) Write(w io.Writer) error {
	i := c.Index
	if c.hashes {
		return papers.WriteHashes(w, papers.Hashes(i.Lock))
	}
	s := i.Summary()
	state := "signature valid, all files present"
	if c.full {
		state = "signature valid, every byte verified"
	}
	if len(c.Altered) > 0 {
		state += ", except documentation"
	}
	fmt.Fprintf(w, "%s, %s\n", i.Name, i.Created.Format("2006-01-02 15:04 MST"))
	fmt.Fprintf(w, "  state     %s\n  key       %s\n", state, strings.Join(c.Signers, ", "))
	if len(c.Renamed) > 0 {
		fmt.Fprintf(w, "  names     changed by the medium or a gate: %s; airgap reads them, and gives its copy the right names\n", strings.Join(c.Renamed, ", "))
	}
	for _, f := range c.Altered {
		fmt.Fprintf(w, "  altered   %s: %s; no command uses this file\n", f.Name, f.Cause)
	}
	fmt.Fprintf(w, "  for       %s, %s\n", i.Lock.OS, i.Lock.Platform)
	fmt.Fprintf(w, "  size      %s in %s\n", ui.Size(s.Size), ui.Count(len(i.Parts), "part"))
	fmt.Fprintf(w, "  images    %4d  %9s\n", s.Images.Count, ui.Size(s.Images.Bytes))
	fmt.Fprintf(w, "  packages  %4d  %9s\n", s.Packages.Count, ui.Size(s.Packages.Bytes))
	_, err := fmt.Fprintf(w, "  files     %4d  %9s\n", s.Files.Count, ui.Size(s.Files.Bytes))
	if s.Addons.Count > 0 {
		_, err = fmt.Fprintf(w, "  add-ons   %4d  %9s\n", s.Addons.Count, ui.Size(s.Addons.Bytes))
	}
	if i.IsDelta() {
		_, err = fmt.Fprintf(w, "  delta     requires %s (%s) in the store of the servers, from %s\n",
			ui.Count(s.Base.Count, "file"), ui.Size(s.Base.Bytes), strings.Join(i.Base.Bundles, ", "))
	}
	if c.list {
		return writeList(w, i)
	}
	return err
}

func writeList(w io.Writer, i *bundle.Index) error {
	for _, image := range i.Lock.Images {
		fmt.Fprintf(w, "image    %s  %s\n", image.Name, image.Digest)
	}
	for _, p := range i.Lock.Packages {
		fmt.Fprintf(w, "package  %s  %s\n", p.NEVRA, ui.Size(p.Size))
	}
	for _, f := range i.Lock.Files {
		fmt.Fprintf(w, "file     %s  %s\n", f.Name, ui.Size(f.Size))
	}
	for _, f := range i.Left() {
		fmt.Fprintf(w, "needs    %s  %s\n", f.Path, ui.Size(f.Size))
	}
	if n := i.Lock.Network; n != nil {
		fmt.Fprintf(w, "network  %s  %s\n", n.Name, madeOf(n.Addon))
	}
	for _, a := range i.Lock.Addons {
		fmt.Fprintf(w, "add-on   %s  %s\n", a.Name, madeOf(a))
	}
	return nil
}

// madeOf describes the source of an add-on.
func madeOf(a bundle.Addon) string {
	if a.Chart == nil {
		return "manifests"
	}
	return fmt.Sprintf("chart %s %s", a.Chart.Name, a.Chart.Version)
}
