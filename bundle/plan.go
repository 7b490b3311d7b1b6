package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/containerd/platforms"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/ui"
)

// Plan is a lock with everything that is needed to write its bundle.
type Plan struct {
	Name    string
	Config  string
	Tool    string
	Created time.Time
	Dated   time.Time // for airgap.lock: Created without the second that a delta may add
	Lock    Lock
	Moved   []Moved // tags that have moved since they were locked
	Base    *Base   // nil: a complete bundle
	// Retagged are images of a delta that have another digest on the servers.
	Retagged []Retagged
	// Secrets are objects of add-ons with secrets that anyone with access to the USB drive
	// can read: "add-on shop: Secret shop/till".
	Secrets []string
	// Notices are sentences about things that could not be checked: a repository without a
	// signature, values without a schema.
	Notices []string
	// Sets are the objects of all add-ons and of images.manifests.
	Sets []operators.Set
	// Operators are the workloads that create pods: those with a rule, and those that can
	// create pods and have no rule.
	Operators []operators.Operator
	// Unsearched is the number of places that were too large to be searched for images; the
	// notices name them.
	Unsearched int
	// Remarks are sentences about images with an unusual structure.
	Remarks []string
	// Warnings are sentences about charts and manifests that are easy to misread, for
	// example a duplicate key.
	Warnings []string

	small   map[string][]byte // contents that are already known, by path
	origins map[string]origin // sources of the other contents, by path
	likely  *likely           // references that look like images
	rpms    *packages
	rpmKey  []byte // armored public key; nil until the packages are signed
	earlier *Earlier
}

// origin opens the source of a file of the bundle.
type origin func(ctx context.Context, part fetch.Extent) (io.ReadCloser, error)

// resolvers is the number of concurrent requests.
const resolvers = 12

// NewPlan resolves everything in the request. It fetches only manifests, metadata and
// charts. It reports all problems together: an image that does not exist, an image that
// is not available for the platform, a chart that does not render, a file without a
// checksum.
func NewPlan(ctx context.Context, c *fetch.Client, r Request, progress ui.Progress) (*Plan, error) {
	if !isPlainName(r.Name) {
		return nil, fmt.Errorf("plan bundle: name %q: want letters, digits, dots, dashes", r.Name)
	}
	platform, err := platforms.Parse(r.Platform)
	if err != nil {
		return nil, fmt.Errorf("plan bundle: platform %q: %w", r.Platform, err)
	}
	p := &Plan{Name: r.Name, Config: string(r.Config), Tool: r.Tool, Created: r.Created.UTC().Truncate(time.Second),
		Lock: Lock{Platform: r.Platform}, small: map[string][]byte{}, origins: map[string]origin{}, likely: &likely{found: map[string]*guess{}, used: map[int]bool{}}}
	if r.Created.IsZero() {
		p.Created = time.Now().UTC().Truncate(time.Second)
	}
	if err := errors.Join(r.Locked.check(), p.checkBase(r.Base)); err != nil {
		return nil, fmt.Errorf("plan bundle: %w", err)
	}
	p.earlier = r.Earlier
	up := upstream{fetch.Strict{Client: c}, r.Earlier}
	carried, errCarried := p.planManifests(ctx, up, r, progress)
	installed, errInstalled := p.planAddons(ctx, up, r, progress)
	ruled, errRuled := p.planOperators(ctx, up, r, progress)
	r.Images = slices.Concat(r.Images, carried, installed, ruled)
	err = errors.Join(
		errCarried, errInstalled, errRuled,
		p.planImages(ctx, up, r, platform, progress),
		p.planOwn(r.Own),
		p.planFiles(ctx, up, r, progress),
		p.planPackages(ctx, up, r, progress),
	)
	if err == nil {
		err = p.Lock.checkSizes()
	}
	if err != nil {
		return nil, fmt.Errorf("plan bundle: %w", fetch.GroupUnreachable(err))
	}
	if err := p.makeDelta(r.Base); err != nil {
		return nil, fmt.Errorf("plan delta: %w", err)
	}
	return p, nil
}

func (p *Plan) planImages(ctx context.Context, up upstream, request Request, platform ocispec.Platform, progress ui.Progress) error {
	neededBy := reasons{}
	var bad []error
	for _, n := range request.Images {
		full, err := FullName(n.Reference)
		if err != nil {
			bad = append(bad, fmt.Errorf("%w%s", err, because([]string{n.NeededBy})))
			continue
		}
		neededBy.add(full, n.NeededBy)
	}
	names := slices.Concat(slices.Sorted(maps.Keys(neededBy)), p.ask(neededBy, request))
	asked, err := each(ctx, "resolve images", names, progress, func(ctx context.Context, name string) (answer, error) {
		by, known := neededBy[name]
		if !known {
			return p.tryResolve(ctx, up, name, platform, request.Locked.image(name)), nil
		}
		r, err := up.resolve(ctx, name, platform, request.Locked.image(name))
		if err != nil {
			return answer{}, fmt.Errorf("image %s%s: %w%s", name, because(by), err, unlessIgnored(by))
		}
		r.image.NeededBy = by
		return answer{resolved: r}, nil
	})
	if err := errors.Join(errors.Join(bad...), err); err != nil {
		return err
	}
	found, answers := asked[:len(neededBy)], map[string]answer{}
	for i, name := range names[len(neededBy):] {
		answers[name] = asked[len(neededBy)+i]
	}
	p.reportUnused(request)
	for _, r := range p.settle(neededBy, answers) {
		found = append(found, answer{resolved: r})
	}
	slices.SortFunc(found, func(a, b answer) int { return strings.Compare(a.resolved.image.Name, b.resolved.image.Name) })
	for _, one := range found {
		r := one.resolved
		p.Lock.Images = append(p.Lock.Images, r.image)
		if r.moved != nil {
			p.Moved = append(p.Moved, *r.moved)
		}
		for _, what := range r.remarks {
			p.Remarks = append(p.Remarks, fmt.Sprintf("image %s: %s", r.image.Name, what))
		}
		p.addBlobs(r)
	}
	return nil
}

func (p *Plan) addBlobs(r *resolved) {
	for digest, content := range r.small {
		p.small[BlobPath(digest)] = content
	}
	for _, blob := range r.image.Blobs {
		path := BlobPath(blob.Digest)
		if _, known := p.small[path]; !known {
			p.origins[path] = r.origin(blob.Digest)
		}
	}
}

func (p *Plan) planFiles(ctx context.Context, up upstream, request Request, progress ui.Progress) error {
	neededBy := reasons{}
	byName := map[string]FileNeed{}
	for _, n := range request.Files {
		if other, twice := byName[n.Name]; twice && other.URL != n.URL {
			return fmt.Errorf("file %s: two different URLs: %s and %s", n.Name, other.URL, n.URL)
		}
		byName[n.Name] = n
		neededBy.add(n.Name, n.NeededBy)
	}
	names := slices.Sorted(maps.Keys(byName))
	found, err := each(ctx, "resolve files", names, progress, func(ctx context.Context, name string) (File, error) {
		f, known := request.Locked.file(byName[name])
		var err error
		if !known {
			f, err = up.resolveFile(ctx, byName[name])
		}
		if err != nil {
			return f, fmt.Errorf("file %s%s: %w", name, because(neededBy[name]), err)
		}
		f.NeededBy = neededBy[name]
		return f, nil
	})
	if err != nil {
		return err
	}
	p.Lock.Files = found
	for _, f := range found {
		p.origins[f.Path] = p.urlOrigin(up, f.URL)
	}
	return nil
}

func (p *Plan) urlOrigin(up upstream, url string, mirrors ...string) origin {
	return func(ctx context.Context, part fetch.Extent) (io.ReadCloser, error) {
		ctx = httpclient.Checked(ctx) // with the digest in the lock
		var errs []error
		for _, one := range append([]string{url}, mirrors...) {
			body, err := up.OpenFile(ctx, one, part)
			if err == nil {
				return body, nil
			}
			if errs = append(errs, err); ctx.Err() != nil {
				break
			}
		}
		return nil, errors.Join(errs...)
	}
}

// each calls do for all items, several at a time, and joins the errors.
func each[T, R any](ctx context.Context, task string, items []T, progress ui.Progress, do func(context.Context, T) (R, error)) ([]R, error) {
	if len(items) == 0 {
		return nil, nil
	}
	t := progress.Task(task, int64(len(items)), false)
	results := make([]R, len(items))
	errs := make([]error, len(items))
	var group errgroup.Group
	group.SetLimit(resolvers)
	for i, item := range items {
		group.Go(func() error {
			if errs[i] = ctx.Err(); errs[i] == nil {
				results[i], errs[i] = do(ctx, item)
			}
			if errs[i] == nil && ctx.Err() == nil { // a cancelled guess reports no error
				t.Add(1)
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs, in the order of the items
	err := errors.Join(errs...)
	if ctx.Err() != nil {
		err = context.Cause(ctx) // reported once, not for each item
	}
	t.End(err)
	return results, err
}

func because(neededBy []string) string {
	if len(neededBy) == 0 || neededBy[0] == "" {
		return ""
	}
	return fmt.Sprintf(" (needed by %s)", ui.And(neededBy))
}
