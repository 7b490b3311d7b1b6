package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/workload"
	"airgap.dev/airgap/internal/reference"
	"airgap.dev/airgap/internal/ui"
)

// IgnoredImage is one item of images.ignore: what looks like an image, or what a
// chart's annotation names, and is not carried.
type IgnoredImage struct {
	Image  string `yaml:"image" json:"image" jsonschema:"required,example=quay.io/shop/debug" jsonschema_description:"Image reference. Without a tag and a digest it covers the whole repository; * matches any text without a slash."`
	Reason string `yaml:"reason" json:"reason" jsonschema:"required,description=Reason why no pod pulls the image; shown in the report"`
}

func validateIgnored(list []IgnoredImage, at *field.Path) field.ErrorList {
	var all field.ErrorList
	for i, one := range list {
		if _, err := path.Match(one.Image, ""); err != nil || one.Image == "" || strings.ContainsAny(one.Image, " \t\n") {
			all = append(all, field.Invalid(at.Index(i).Child("image"), one.Image, "expected an image reference, with * for any part of it"))
		}
		if strings.TrimSpace(one.Reason) == "" {
			all = append(all, field.Required(at.Index(i).Child("reason"), "say why no pod pulls it: the report repeats it"))
		}
	}
	return all
}

// matches reports whether the entry is about a reference as it was found.
func (i IgnoredImage) matches(image string) bool {
	named, err := reference.Parse(image)
	if err != nil { // a variable stands in it
		is, err := path.Match(i.Image, image)
		return i.Image == image || err == nil && is
	}
	full, repository := named.Tagged().String(), named.Repository()
	want := i.Image
	if own, err := reference.Parse(want); err == nil {
		if !own.Bare() {
			return own.String() == full
		}
		want = own.Repository()
	}
	for _, name := range []string{full, repository, named.Familiar(), image} {
		if is, err := path.Match(want, name); err == nil && is {
			return true
		}
	}
	return false
}

// Ignored is a reference that images.ignore leaves out.
type Ignored struct {
	Reference string   `json:"reference"`
	Reason    string   `json:"reason"`
	FoundIn   []string `json:"foundIn"`
}

// NotCarried is what looks like an image and is not in the bundle.
type NotCarried struct {
	Reference string   `json:"reference"` // as it was found
	Reason    string   `json:"reason"`    // the same words for the same cause
	FoundIn   []string `json:"foundIn"`
}

// Reasons of NotCarried.
const (
	reasonUntagged = "it names no tag or digest, and a program adds one"
	reasonOpen     = "a variable in it has its value from the cluster"
	reasonMissing  = "its registry has no such image"
	reasonRefused  = "its registry requires a login for it, or has no such image"
	reasonOther    = "its registry did not give a usable image"
	reasonSilent   = "its registry could not be asked"
)

// whyNot is the reason why a reference did not resolve.
func whyNot(err error) string {
	var reply *transport.Error
	var way net.Error // no connection, no name, no trust, no answer in time
	switch {
	case errors.As(err, &reply) && reply.StatusCode == http.StatusNotFound:
		return reasonMissing
	case errors.As(err, &reply) && (reply.StatusCode == http.StatusUnauthorized || reply.StatusCode == http.StatusForbidden):
		return reasonRefused
	case errors.As(err, &reply) && fetch.IsPassingStatus(reply.StatusCode):
		return reasonSilent
	case errors.As(err, &way), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errSilent):
		return reasonSilent
	}
	return reasonOther
}

// guessPatience bounds how long a registry is asked for a guess: a plan does
// not wait for a host that may be no registry.
const guessPatience = 20 * time.Second

var errSilent = errors.New("the registry did not answer before")

// tryResolve asks for what may be no image. A registry that could not be asked
// once is not asked for other guesses.
func (p *Plan) tryResolve(ctx context.Context, up upstream, name string, platform ocispec.Platform, locked string) answer {
	host, _ := reference.SplitHost(name)
	if _, silent := p.likely.silent.Load(host); silent {
		return answer{err: errSilent}
	}
	trying, cancel := context.WithTimeout(ctx, guessPatience)
	defer cancel()
	r, err := up.resolve(trying, name, platform, locked)
	if err != nil && whyNot(err) == reasonSilent {
		p.likely.silent.Store(host, true)
	}
	if err != nil {
		return answer{err: err}
	}
	return answer{resolved: r}
}

// likely are the candidates of all objects, by what they are found as.
type likely struct {
	found  map[string]*guess // by reference as it was found
	silent sync.Map          // hosts that could not be asked
	used   map[int]bool      // items of images.ignore that left something out
}

// guess is one text that looks like an image.
type guess struct {
	readings []string // full names; the second is asked for if the first does not exist
	untagged bool
	open     bool // a variable stands in it
	word     bool // it is an image only if Docker Hub has it
	foundIn  []string
}

func (l *likely) add(c workload.Candidate, of string) {
	g := l.found[c.Image]
	if g == nil {
		g = &guess{untagged: c.Untagged, open: c.Open, word: c.Word}
		l.found[c.Image] = g
	}
	g.untagged = g.untagged && c.Untagged
	g.word = g.word && c.Word
	for _, reading := range []string{c.Image, c.Or} {
		if full, err := FullName(reading); err == nil && reading != "" && !slices.Contains(g.readings, full) {
			g.readings = append(g.readings, full)
		}
	}
	where := of + ": " + c.Where
	if i, known := slices.BinarySearch(g.foundIn, where); !known {
		g.foundIn = slices.Insert(g.foundIn, i, where)
	}
}

// guesses notes what looks like an image in a set of objects.
func (p *Plan) guesses(objects []workload.Object, namespace, of string) {
	candidates, unread := workload.Likely(objects, namespace)
	for _, c := range candidates {
		p.likely.add(c, of)
	}
	p.Unsearched += len(unread)
	for _, place := range unread {
		p.Notices = append(p.Notices, "images: "+of+": "+place)
	}
}

// ignoring leaves needs out that images.ignore names. Only annotations, guesses and
// images of an operator's rule are: what a pod's own object names is pulled.
func (p *Plan) ignoring(image, where string, r Request) bool {
	for i, one := range r.Ignore {
		if !one.matches(image) {
			continue
		}
		p.likely.used[i] = true
		at := slices.IndexFunc(p.Lock.Ignored, func(i Ignored) bool { return i.Reference == image })
		if at < 0 {
			at = len(p.Lock.Ignored)
			p.Lock.Ignored = append(p.Lock.Ignored, Ignored{Reference: image, Reason: one.Reason})
		}
		if !slices.Contains(p.Lock.Ignored[at].FoundIn, where) {
			p.Lock.Ignored[at].FoundIn = append(p.Lock.Ignored[at].FoundIn, where)
		}
		return true
	}
	return false
}

// unlessIgnored says what to do about an image that only annotations of charts
// name: those are written by hand, and are out of date at times.
func unlessIgnored(neededBy []string) string {
	for _, by := range neededBy {
		if !strings.Contains(by, ": chart ") || !strings.Contains(by, ", annotation ") {
			return ""
		}
	}
	if len(neededBy) == 0 {
		return ""
	}
	return "; if no pod pulls it, images.ignore leaves it out"
}

// ask lists the full names that only guesses ask for; what is known already is
// carried anyway.
func (p *Plan) ask(known reasons, r Request) []string {
	var names []string
	for image, g := range p.likely.found {
		switch {
		case slices.ContainsFunc(g.readings, func(name string) bool { _, is := known[name]; return is }):
		case p.ignored(image, g, r):
			delete(p.likely.found, image)
		case !g.untagged:
			names = append(names, g.readings...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (p *Plan) ignored(image string, g *guess, r Request) bool {
	is := false
	for _, where := range g.foundIn {
		is = p.ignoring(image, where, r) || is
	}
	return is
}

// idle are notices about items of images.ignore that leave nothing out.
func (p *Plan) idle(r Request) {
	for i, one := range r.Ignore {
		if !p.likely.used[i] {
			p.Notices = append(p.Notices, fmt.Sprintf("images.ignore: %s leaves nothing out", one.Image))
		}
	}
}

// settle decides what becomes of each guess: known are the images that are
// carried anyway, answers those that were asked for.
func (p *Plan) settle(known reasons, answers map[string]answer) (carried []*resolved) {
	byName := map[string]*resolved{}
	for image, g := range p.likely.found {
		name := g.carriedAs(known, answers)
		switch {
		case name == "" && g.isNoImage(answers):
		case name == "":
			p.Lock.NotCarried = append(p.Lock.NotCarried, NotCarried{Reference: image, Reason: g.reason(answers), FoundIn: g.foundIn})
		case answers[name].resolved != nil:
			r := answers[name].resolved
			r.image.LooksLike = true
			for _, where := range g.foundIn {
				if i, is := slices.BinarySearch(r.image.NeededBy, where); !is {
					r.image.NeededBy = slices.Insert(r.image.NeededBy, i, where)
				}
			}
			byName[name] = r
		}
	}
	p.Lock.NotCarried = slices.DeleteFunc(p.Lock.NotCarried, func(n NotCarried) bool { return n.Reason == reasonUntagged && isCarried(n.Reference, known, byName) })
	slices.SortStableFunc(p.Lock.NotCarried, func(a, b NotCarried) int { return cmp.Compare(a.Reference, b.Reference) })
	p.Lock.NotCarried = joinPlaces(p.Lock.NotCarried)
	slices.SortFunc(p.Lock.Ignored, func(a, b Ignored) int { return cmp.Compare(a.Reference, b.Reference) })
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		carried = append(carried, byName[name])
	}
	return carried
}

// joinPlaces makes one item of those that name the same reference, as a rule and a setting
// may do. The list is sorted; the first reason stays.
func joinPlaces(all []NotCarried) []NotCarried {
	var joined []NotCarried
	for _, n := range all {
		if last := len(joined) - 1; last >= 0 && joined[last].Reference == n.Reference {
			joined[last].FoundIn = slices.Concat(joined[last].FoundIn, n.FoundIn)
			continue
		}
		joined = append(joined, n)
	}
	return joined
}

// isCarried reports whether any tag of a repository is in the bundle: a flag
// with a base image says the same as the object that names it whole.
func isCarried(repository string, known reasons, guessed map[string]*resolved) bool {
	bare, err := reference.Parse(repository)
	if err != nil {
		return false
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(known)), slices.Collect(maps.Keys(guessed))) {
		if other, err := reference.Parse(name); err == nil && !other.Bare() && other.Repository() == bare.Repository() {
			return true
		}
	}
	return false
}

// answer is what a registry says of a guess.
type answer struct {
	resolved *resolved
	err      error
}

func (g *guess) carriedAs(known reasons, answers map[string]answer) string {
	if g.untagged {
		return ""
	}
	for _, name := range g.readings {
		if _, is := known[name]; is || answers[name].resolved != nil {
			return name
		}
	}
	return ""
}

// isNoImage reports whether Docker Hub does not know a single word: all images of
// its own are public, so no pod could pull it either.
func (g *guess) isNoImage(answers map[string]answer) bool {
	reason := g.reason(answers)
	return g.word && (reason == reasonMissing || reason == reasonRefused)
}

func (g *guess) reason(answers map[string]answer) string {
	switch {
	case g.untagged:
		return reasonUntagged
	case g.open:
		return reasonOpen
	}
	reason := reasonMissing
	for _, name := range g.readings {
		if why := whyNot(answers[name].err); why != reasonMissing {
			reason = why
		}
	}
	return reason
}

// NotResolved is the error of a plan that has to be complete and is not.
func (p *Plan) NotResolved() error {
	var errs []error
	for _, n := range p.Lock.NotCarried {
		errs = append(errs, fmt.Errorf("%s looks like an image and is not carried: %s (found in %s)", n.Reference, n.Reason, ui.And(n.FoundIn)))
	}
	for _, o := range p.Operators {
		if o.Unknown {
			errs = append(errs, fmt.Errorf("%s, operator %s: %s", o.By, o.Image, strings.Join(o.Warnings, "; ")))
		}
	}
	return errors.Join(errs...)
}
