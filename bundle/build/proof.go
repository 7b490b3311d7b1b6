package build

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// Proof is what airgap bundle --plan prints: the lock with the sizes of its
// images, and its sums. Whatever a pod is known to pull is resolved; what only
// looks like an image may be missing.
type Proof struct {
	bundle.Lock
	Images      []provenImage `json:"images"`
	ClosedWorld sums          `json:"closedWorld"`
	// Operators are the workloads that create pods themselves, with warnings.
	Operators []operators.Operator `json:"operators,omitempty"`
	// What the screen says beside the plan, as sentences; see bundle.Plan.
	Notices  []string `json:"notices,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Remarks  []string `json:"remarks,omitempty"`

	base *bundle.Base
	open openEnds
}

type provenImage struct {
	bundle.Image
	Size int64 `json:"size"` // bytes of all its blobs; images may share some
}

// sums are of all references that are resolved.
type sums struct {
	References int   `json:"references"` // each image, package, file, chart and URL of manifests once
	Bytes      int64 `json:"bytes"`      // what they take, shared blobs once; a delta leaves out some
	// AllResolved: nothing looks like an image and is not carried, a rule knows each
	// operator, and everything was searched.
	AllResolved bool `json:"allResolved"`
}

// ProofOf is what a plan proves: it never fails.
func ProofOf(plan *bundle.Plan) *Proof {
	l := plan.Lock
	p := &Proof{Lock: l, Images: []provenImage{}, Operators: plan.Operators, Notices: plan.Notices, Warnings: plan.Warnings, Remarks: plan.Remarks, base: plan.Base}
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
	p.open = openEnds{possible: len(l.NotCarried), operators: unknown(plan.Operators), unsearched: plan.Unsearched}
	p.ClosedWorld = sums{References: n, Bytes: l.Bytes(), AllResolved: p.open == openEnds{}}
	return p
}

// openEnds are why something may be missing on site.
type openEnds struct{ possible, operators, unsearched int }

func (o openEnds) String() string {
	var all []string
	for _, one := range []struct {
		count      int
		what, much string
	}{{o.possible, "possible image", " not carried"}, {o.operators, "operator", " whose images are not known"}, {o.unsearched, "place", " not searched"}} {
		if one.count > 0 {
			all = append(all, ui.Count(one.count, one.what)+one.much)
		}
	}
	return strings.Join(all, ", ")
}

// next says what to do about them.
func (o openEnds) next() string {
	var all []string
	if o.possible > 0 {
		all = append(all, nextForNotCarried)
	}
	if o.operators > 0 {
		all = append(all, nextForOperators)
	}
	if o.unsearched > 0 {
		all = append(all, "look into the places that are not checked, and write their images into images.list")
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

// Write prints who needs what, what a delta leaves out, and the sums.
func (p *Proof) Write(w io.Writer) error {
	p.list(w)
	return errors.Join(writeBase(w, p.base), p.sum(w))
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
		fmt.Fprintf(w, "not carried %s\n           looks like an image; %s\n", n.Reference, n.Reason)
		writePlaces(w, n.FoundIn)
	}
	p.listOperators(w)
}

// listOperators prints the operators.
func (p *Proof) listOperators(w io.Writer) {
	for _, o := range p.Operators {
		rule := "no rule"
		if o.Rule != "" {
			rule = "rule " + o.Rule
		}
		fmt.Fprintf(w, "operator %s\n           %s, %s\n", o.By, o.Image, rule)
		for _, warning := range o.Warnings {
			fmt.Fprintf(w, "           not known: %s\n", warning)
		}
	}
}

// tellOperators prints the warnings about operators.
func tellOperators(p ui.Progress, all []operators.Operator) {
	for _, o := range all {
		for _, warning := range o.Warnings {
			p.Say("warning: %s, operator %s: %s", o.By, o.Image, warning)
		}
	}
}

func (p *Proof) sum(w io.Writer) error {
	references, bytes := ui.Count(p.ClosedWorld.References, "reference"), ui.Size(p.ClosedWorld.Bytes)
	if !p.ClosedWorld.AllResolved {
		_, err := fmt.Fprintf(w, "not closed: %s resolved, %s; %s in all\nnext: %s\n", references, p.open, bytes, p.open.next())
		return err
	}
	_, err := fmt.Fprintf(w, "closed world: %s, all resolved; %s in all\n", references, bytes)
	return err
}

// set is an add-on, or what was fetched for the pod network.
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

// nextForNotCarried is what to do about each text that looks like an image.
const nextForNotCarried = "write each possible image into images.list of airgap.yaml if a pod pulls it, into images.ignore with a reason if none does"

// nextForOperators is what to do about operators whose images nobody here knows.
const nextForOperators = "say in a rule of images.rules which images the pods of each operator pull, or that they pull no others: airgap docs operators"

func writePlaces(w io.Writer, foundIn []string) {
	for _, place := range foundIn {
		fmt.Fprintf(w, "           in %s\n", place)
	}
}

// tellNotCarried names what is not in the bundle and may be missing on site.
func tellNotCarried(p ui.Progress, l bundle.Lock) {
	for _, n := range l.NotCarried {
		p.Say("warning: %s looks like an image and is not carried: %s; found in %s", n.Reference, n.Reason, ui.Words(n.FoundIn))
	}
}

// strictly is the error of --strict where something may be missing on site.
func (o Options) strictly(plan *bundle.Plan) error {
	if !o.Strict {
		return nil
	}
	open := openEnds{possible: len(plan.Lock.NotCarried), operators: unknown(plan.Operators)}
	return advice.Add(plan.NotResolved(), "%s", open.next())
}

func writeNeeds(w io.Writer, neededBy []string) {
	for _, by := range neededBy {
		fmt.Fprintf(w, "           for %s\n", by)
	}
}
