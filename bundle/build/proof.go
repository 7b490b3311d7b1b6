package build

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/medium"
	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// Proof is the output of airgap bundle --plan: the lock, the sizes of its images, and
// the totals. Every image that a pod is known to pull is resolved. A reference that
// only looks like an image may be missing.
type Proof struct {
	bundle.Lock
	Images      []provenImage `json:"images"`
	ClosedWorld sums          `json:"closedWorld"`
	// Operators are the workloads that create pods, with warnings.
	Operators []operators.Operator `json:"operators,omitempty"`
	// Sentences that are printed in addition to the plan; see bundle.Plan.
	Notices  []string `json:"notices,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Remarks  []string `json:"remarks,omitempty"`

	Reused *bundle.Reused `json:"reused,omitempty"` // the contents from earlier bundles

	base *bundle.Base
	gaps gaps
}

type provenImage struct {
	bundle.Image
	Size int64 `json:"size"` // bytes of all its blobs; images can share blobs
}

// sums are totals over all resolved references.
type sums struct {
	References int   `json:"references"` // each image, package, file, chart and manifest URL once
	Bytes      int64 `json:"bytes"`      // total size, shared blobs once; a delta omits some of them
	// AllResolved: each reference that looks like an image is in the bundle, a rule knows
	// each operator, and everything was searched.
	AllResolved bool `json:"allResolved"`
}

// ProofOf returns the proof of a plan.
func ProofOf(plan *bundle.Plan) *Proof {
	l := plan.Lock
	p := &Proof{Lock: l, Images: []provenImage{}, Operators: plan.Operators, Notices: plan.Notices, Warnings: plan.Warnings, Remarks: plan.Remarks, Reused: plan.Reused(), base: plan.Base}
	for _, i := range l.Images {
		p.Images = append(p.Images, provenImage{i, i.Size()})
	}
	n := len(l.Images) + len(l.Packages) + len(l.Files) + len(l.Manifests)
	for _, a := range setsOf(l) {
		n += len(a.Sources)
		if a.Chart != nil {
			n++
		}
	}
	p.gaps = gaps{possible: len(l.NotCarried), operators: unknown(plan.Operators), unsearched: plan.Unsearched}
	p.ClosedWorld = sums{References: n, Bytes: l.Bytes(), AllResolved: p.gaps == gaps{}}
	return p
}

// gaps count the reasons why something may be missing on site.
type gaps struct{ possible, operators, unsearched int }

func (o gaps) String() string {
	var all []string
	for _, one := range []struct {
		count      int
		noun, rest string
	}{{o.possible, "possible image", " not in the bundle"}, {o.operators, "operator", " with unknown images"}, {o.unsearched, "place", " not searched"}} {
		if one.count > 0 {
			all = append(all, ui.Count(one.count, one.noun)+one.rest)
		}
	}
	return strings.Join(all, ", ")
}

// next returns the next steps that close the gaps.
func (o gaps) next() string {
	var all []string
	if o.possible > 0 {
		all = append(all, nextForNotCarried)
	}
	if o.operators > 0 {
		all = append(all, nextForOperators)
	}
	if o.unsearched > 0 {
		all = append(all, "check the places that airgap did not search, and add their images to images.list")
	}
	return strings.Join(all, "; ")
}

func unknown(all []operators.Operator) int {
	n := 0
	for _, o := range all {
		if o.Unknown {
			n++
		}
	}
	return n
}

// Write prints the references with the items that need them, the files that a delta
// omits, and the totals.
func (p *Proof) Write(w io.Writer) error {
	p.list(w)
	err := errors.Join(writeBase(w, p.base), writeReused(w, p.Reused))
	fmt.Fprintf(w, "time to read %s on the site: %s\n", ui.Size(p.carried()), medium.Times(p.carried()))
	return errors.Join(err, p.sum(w))
}

// carried is the size of the bundle: a delta omits files.
func (p *Proof) carried() int64 {
	bytes := p.ClosedWorld.Bytes
	if p.base != nil {
		for _, f := range p.base.Files {
			bytes -= f.Size
		}
	}
	return max(0, bytes)
}

func (p *Proof) list(w io.Writer) {
	for _, i := range p.Images {
		looks := ""
		if i.LooksLike {
			looks = "; looks like an image, and its registry has it"
		}
		fmt.Fprintf(w, "image    %s\n           %s, %s%s\n", i.Name, i.Digest, ui.Size(i.Size), looks)
		writeNeeds(w, i.NeededBy)
	}
	for _, r := range p.Repositories {
		signed := "signed"
		if !r.SignedMetadata {
			signed = "not signed"
		}
		fmt.Fprintf(w, "repository %s\n           metadata %s; keys %s\n", r.Name, signed, strings.Join(r.Keys, ", "))
	}
	for _, one := range p.Packages {
		where := ""
		if len(one.Hosts) > 0 {
			where = ", on " + strings.Join(one.Hosts, ", ") + " only"
		}
		fmt.Fprintf(w, "package  %s\n           sha256:%s, %s%s\n", one.NEVRA, one.SHA256, ui.Size(one.Size), where)
		writeNeeds(w, one.NeededBy)
	}
	for _, f := range p.Files {
		fmt.Fprintf(w, "file     %s\n           sha256:%s, %s\n", f.Name, f.SHA256, ui.Size(f.Size))
		writeNeeds(w, f.NeededBy)
	}
	for _, a := range setsOf(p.Lock) {
		writeAddon(w, a)
	}
	for _, s := range p.Manifests {
		fmt.Fprintf(w, "manifest %s\n           sha256:%s\n", s.URL, s.SHA256)
		writeNeeds(w, []string{"images.manifests"})
	}
	for _, i := range p.Ignored {
		fmt.Fprintf(w, "ignored  %s\n           %s\n", i.Reference, i.Reason)
		writePlaces(w, i.FoundIn)
	}
	for _, n := range p.NotCarried {
		fmt.Fprintf(w, "not included %s\n           looks like an image; %s\n", n.Reference, n.Reason)
		writePlaces(w, n.FoundIn)
	}
	p.listOperators(w)
}

func (p *Proof) listOperators(w io.Writer) {
	for _, o := range p.Operators {
		rule := "no rule"
		if o.Rule != "" {
			rule = "rule " + o.Rule
		}
		fmt.Fprintf(w, "operator %s\n           %s, %s\n", o.By, o.Image, rule)
		for _, warning := range o.Warnings {
			fmt.Fprintf(w, "           warning: %s\n", warning)
		}
	}
}

// reportOperators prints the warnings about operators.
func reportOperators(p ui.Progress, all []operators.Operator) {
	for _, o := range all {
		for _, warning := range o.Warnings {
			p.Say("warning: %s, operator %s: %s", o.By, o.Image, warning)
		}
	}
}

func (p *Proof) sum(w io.Writer) error {
	references, bytes := ui.Count(p.ClosedWorld.References, "reference"), ui.Size(p.ClosedWorld.Bytes)
	if !p.ClosedWorld.AllResolved {
		_, err := fmt.Fprintf(w, "incomplete: %s resolved, %s; %s in total\nnext: %s\n", references, p.gaps, bytes, p.gaps.next())
		return err
	}
	_, err := fmt.Fprintf(w, "complete: %s, all resolved; %s in total\n", references, bytes)
	return err
}

// set is an add-on or the files for the pod network.
type set struct {
	bundle.Addon
	called string
}

func setsOf(l bundle.Lock) []set {
	var all []set
	if l.Network != nil {
		all = append(all, set{l.Network.Addon, "network " + l.Network.Name})
	}
	for _, a := range l.Addons {
		all = append(all, set{a, "add-on " + a.Name})
	}
	return all
}

func writeAddon(w io.Writer, a set) {
	if c := a.Chart; c != nil {
		fmt.Fprintf(w, "chart    %s %s\n           %s, %s\n", c.Name, c.Version, c.Digest, ui.Size(c.Size))
		writeNeeds(w, []string{a.called})
	}
	for _, s := range a.Sources {
		fmt.Fprintf(w, "manifest %s\n           sha256:%s\n", s.URL, s.SHA256)
		writeNeeds(w, []string{a.called})
	}
}

// nextForNotCarried is the next step for each text that looks like an image.
const nextForNotCarried = "in airgap.yaml, add each possible image to images.list if a pod pulls it, or to images.ignore with a reason if no pod pulls it"

// nextForOperators is the next step for operators with unknown images.
const nextForOperators = "for each operator, add a rule to images.rules with the images that its pods pull, or a rule that its pods pull no others; see airgap docs operators"

func writePlaces(w io.Writer, foundIn []string) {
	for _, place := range foundIn {
		fmt.Fprintf(w, "           in %s\n", place)
	}
}

// reportNotCarried lists the references that are not in the bundle and may be missing
// on site.
func reportNotCarried(p ui.Progress, l bundle.Lock) {
	for _, n := range l.NotCarried {
		p.Say("warning: %s looks like an image and is not in the bundle: %s; found in %s", n.Reference, n.Reason, ui.Words(n.FoundIn))
	}
}

// strictly returns the error of --strict if something may be missing on site.
func (o Options) strictly(plan *bundle.Plan) error {
	if !o.Strict {
		return nil
	}
	found := gaps{possible: len(plan.Lock.NotCarried), operators: unknown(plan.Operators)}
	return advice.Add(plan.NotResolved(), "%s", found.next())
}

func writeNeeds(w io.Writer, neededBy []string) {
	for _, by := range neededBy {
		fmt.Fprintf(w, "           for %s\n", by)
	}
}
