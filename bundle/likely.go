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

// IgnoredImage is one item of images.ignore: a text that looks like an image, or an
// image in a chart annotation, that the bundle does not include.
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
			all = append(all, field.Required(at.Index(i).Child("reason"), "write the reason why no pod pulls it; the report shows the reason"))
		}
	}
	return all
}

// matches reports whether the entry matches the found reference.
func (i IgnoredImage) matches(image string) bool {
	named, err := reference.Parse(image)
	if err != nil { // the reference contains a variable
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

// Ignored is a reference that images.ignore excludes.
type Ignored struct {
	Reference string   `json:"reference"`
	Reason    string   `json:"reason"`
	FoundIn   []string `json:"foundIn"`
}

// NotCarried is a reference that looks like an image and is not in the bundle.
type NotCarried struct {
	Reference string   `json:"reference"` // as it was found
	Reason    string   `json:"reason"`    // one text per cause
	FoundIn   []string `json:"foundIn"`
}

// Reasons of NotCarried.
const (
	reasonUntagged = "it has no tag or digest, and a program adds one"
	reasonOpen     = "it contains a variable with a value from the cluster"
	reasonMissing  = "its registry has no such image"
	reasonRefused  = "its registry requires a login for it, or has no such image"
	reasonPage     = "a proxy or login page answered in the place of its registry"
	reasonOther    = "its registry did not give a usable image"
	reasonSilent   = "its registry did not answer"
)

// reasonFor returns the reason why a reference did not resolve.
func reasonFor(err error) string {
	var reply *transport.Error
	var way net.Error // no connection, unknown host, untrusted certificate, timeout
	switch {
	case fetch.IsPage(err):
		return reasonPage
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

// guessTimeout limits the wait for a registry's answer about a guess, because the host
// may not be a registry.
const guessTimeout = 20 * time.Second

var errSilent = errors.New("the registry did not answer an earlier request")

// tryResolve resolves a reference that may not be an image. It skips registries that
// did not answer before.
func (p *Plan) tryResolve(ctx context.Context, up upstream, name string, platform ocispec.Platform, locked string) answer {
	host, _ := reference.SplitHost(name)
	if _, silent := p.likely.silent.Load(host); silent {
		return answer{err: errSilent}
	}
	trying, cancel := context.WithTimeout(ctx, guessTimeout)
	defer cancel()
	r, err := up.resolve(trying, name, platform, locked)
	if err != nil && reasonFor(err) == reasonSilent {
		p.likely.silent.Store(host, true)
	}
	if err != nil {
		return answer{err: err}
	}
	return answer{resolved: r}
}

// likely are the candidates of all objects, by the found text.
type likely struct {
	found  map[string]*guess // by the found reference
	silent sync.Map          // hosts that did not answer
	used   map[int]bool      // items of images.ignore that matched
}

// guess is one text that looks like an image.
type guess struct {
	readings []string // full names; the second is tried if the first does not exist
	untagged bool
	open     bool // it contains a variable
	word     bool // an image only if Docker Hub has it
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

// guesses records the texts in a set of objects that look like images.
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

// ignoring reports whether images.ignore excludes an image at this place. It applies to
// annotations, guesses and images of an operator's rule; images in pods are always
// needed.
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

// unlessIgnored is a hint for an image that only chart annotations name, because
// annotations are written by hand and can be outdated.
func unlessIgnored(neededBy []string) string {
	for _, by := range neededBy {
		if !strings.Contains(by, ": chart ") || !strings.Contains(by, ", annotation ") {
			return ""
		}
	}
	if len(neededBy) == 0 {
		return ""
	}
	return "; if no pod pulls it, add it to images.ignore"
}

// ask returns the full names that only guesses need; known images are in the bundle anyway.
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

// reportUnused adds a notice for each item of images.ignore that matched nothing.
func (p *Plan) reportUnused(r Request) {
	for i, one := range r.Ignore {
		if !p.likely.used[i] {
			p.Notices = append(p.Notices, fmt.Sprintf("images.ignore: %s matches no image", one.Image))
		}
	}
}

// settle decides each guess. known are the images that are in the bundle anyway,
// answers are the results for the requested ones.
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

// joinPlaces merges items with the same reference, for example from a rule and a
// setting. The list is sorted; the first reason is kept.
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

// isCarried reports whether any tag of a repository is in the bundle: a flag with a
// base image refers to the same image as the object with the full name.
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

// answer is the result of a registry for a guess.
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

// isNoImage reports whether Docker Hub does not know a single word. All its official
// images are public, so no pod can pull it.
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
		if why := reasonFor(answers[name].err); why != reasonMissing {
			reason = why
		}
	}
	return reason
}

// NotResolved is the error for a plan that must be complete and is not.
func (p *Plan) NotResolved() error {
	var errs []error
	for _, n := range p.Lock.NotCarried {
		errs = append(errs, fmt.Errorf("%s looks like an image and is not in the bundle: %s (found in %s)", n.Reference, n.Reason, ui.And(n.FoundIn)))
	}
	for _, o := range p.Operators {
		if o.Unknown {
			errs = append(errs, fmt.Errorf("%s, operator %s: %s", o.By, o.Image, strings.Join(o.Warnings, "; ")))
		}
	}
	return errors.Join(errs...)
}
