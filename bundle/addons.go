package bundle

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/bundle/workload"
	"airgap.dev/airgap/internal/ui"
)

// Directories of a bundle: the charts of add-ons, the objects of add-ons, the objects
// of the pod network.
const (
	chartsDir    = "charts"
	manifestsDir = "manifests"
	networkDir   = "network"
)

// wanted is an add-on, or the objects of the pod network.
type wanted struct {
	AddonNeed
	what string // "add-on cash", "network calico"
	dir  string // directory of its objects in the bundle
}

// sets returns the pod network and the add-ons in the order of installation.
func (r Request) sets() []wanted {
	var all []wanted
	if r.Network != nil {
		all = append(all, wanted{*r.Network, "network " + r.Network.Name, networkDir})
	}
	for _, one := range r.Addons {
		all = append(all, wanted{one, "add-on " + one.Name, manifestsDir})
	}
	return all
}

// planAddons fetches charts and manifests, renders them in the order of airgap.yaml,
// and returns their images.
func (p *Plan) planAddons(ctx context.Context, up upstream, r Request, progress ui.Progress) ([]Need, error) {
	sets := r.sets()
	fetched, err := each(ctx, "resolve add-ons", sets, progress, func(ctx context.Context, need wanted) (*ingredients, error) {
		i, err := up.gather(ctx, need.AddonNeed, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", need.what, err)
		}
		return i, nil
	})
	errs := []error{err}
	world := &world{objects: map[string]placed{}}
	members := make([]*chart.Member, len(sets))
	for i, need := range sets {
		members[i] = &chart.Member{}
		if from := fetched[i]; from != nil {
			release := chart.Release{Name: need.Name, Namespace: need.Namespace, KubeVersion: r.KubeVersion, Values: from.values}
			members[i] = &chart.Member{Chart: from.chart, Release: release, Manifests: from.objects}
		}
	}
	chart.Together(members)
	var needs []Need
	for i, need := range sets {
		if fetched[i] == nil {
			continue // its error is already in errs
		}
		images, err := p.planAddon(world, need, fetched[i], members[i], r)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", need.what, err))
		}
		for _, ref := range images {
			needs = append(needs, Need{Reference: ref.Image, NeededBy: need.what + ": " + ref.Where})
		}
	}
	return needs, errors.Join(errs...)
}

// world has the objects of the sets that were planned so far.
type world struct {
	objects map[string]placed // by kind and name
}

type placed struct {
	workload.Object
	of string // "add-on cash"
}

// planAddon adds one rendered set to the lock.
func (p *Plan) planAddon(w *world, need wanted, from *ingredients, made *chart.Member, r Request) ([]workload.Ref, error) {
	if made.Err != nil {
		return nil, made.Err
	}
	rendered := made.Rendered
	objects := workload.Installed(withNamespace(need.Namespace, append(rendered.Objects, from.objects...)))
	objects, err := w.place(need, objects)
	if err != nil {
		return nil, err
	}
	for _, n := range append(rendered.Unjudged, from.notices...) {
		p.Notices = append(p.Notices, need.what+": "+n)
	}
	for _, n := range append(from.warnings, rendered.Notices...) {
		p.Warnings = append(p.Warnings, need.what+": "+n)
	}
	found, err := workload.Images(objects, need.Namespace)
	if err != nil {
		return nil, err
	}
	p.guesses(objects, need.Namespace, need.what)
	text, err := workload.Encode(objects)
	if err != nil {
		return nil, err
	}
	locked := Addon{
		Name: need.Name, Namespace: need.Namespace, Chart: from.locked, Sources: from.sources,
		Path: need.dir + "/" + need.Name + ".yaml", Size: int64(len(text)), SHA256: sha256Hex(text),
	}
	if locked.Chart != nil {
		if err := p.addSmall(locked.Chart.Path, from.archive); err != nil {
			return nil, err
		}
	}
	images := slices.DeleteFunc(rendered.Images, func(ref workload.Ref) bool { return p.ignoring(ref.Image, need.what+": "+ref.Where, r) })
	images = append(images, found...)
	if need.dir == networkDir { // the images of the plugin's operator are known, so no rule is needed
		p.Lock.Network = &Network{Addon: locked, Images: daemonSetImages(images)}
	} else {
		p.Sets = append(p.Sets, operators.Set{Of: need.what, Namespace: need.Namespace, Installed: true, Objects: objects})
		p.Lock.Addons = append(p.Lock.Addons, locked)
	}
	if from.moved != nil {
		p.Moved = append(p.Moved, *from.moved)
	}
	for _, o := range objects {
		if carriesSecret(o) {
			p.Secrets = append(p.Secrets, need.what+": "+o.Title(need.Namespace))
		}
	}
	return images, p.addSmall(locked.Path, text)
}

// NetworkObjects is the file with the fetched objects of the pod network for the
// bundle; nil without such objects.
func (p *Plan) NetworkObjects() []byte {
	if p.Lock.Network == nil {
		return nil
	}
	return p.small[p.Lock.Network.Path]
}

// daemonSetImages returns the full names of the images of DaemonSets. It skips invalid
// references, because the resolution of images reports them.
func daemonSetImages(images []workload.Ref) []string {
	names := []string{}
	for _, ref := range images {
		if name, err := FullName(ref.Image); err == nil && strings.HasPrefix(ref.Where, "DaemonSet ") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// addSmall refuses two contents for one path: charts with the same name and version can
// come from different repositories.
func (p *Plan) addSmall(path string, content []byte) error {
	if other, known := p.small[path]; known && string(other) != string(content) {
		return fmt.Errorf("%s has two different contents: another add-on has a chart with this name and version from another source", path)
	}
	p.small[path] = content
	return nil
}

// place drops duplicate objects with the same contents. Objects with different contents
// are an error, because each run of install would report one as drift of the other.
func (w *world) place(need wanted, objects []workload.Object) ([]workload.Object, error) {
	var kept []workload.Object
	var errs []error
	for _, o := range objects {
		key := o.GroupVersionKind().Group + " " + o.Title(need.Namespace)
		other, twice := w.objects[key]
		switch {
		case !twice:
			w.objects[key] = placed{o, need.what}
			kept = append(kept, o)
		case reflect.DeepEqual(other.Object.Object, o.Object):
		case other.of == need.what && workload.Precedes(other.Object, o):
			at := slices.IndexFunc(kept, func(k workload.Object) bool { return k.Unstructured == other.Unstructured })
			w.objects[key], kept[at] = placed{o, need.what}, o
		default:
			errs = append(errs, fmt.Errorf("%s: %s is a duplicate with different contents: %s of %s", o.At, o.Title(need.Namespace), other.At, other.of))
		}
	}
	return kept, errors.Join(errs...)
}

// withNamespace adds the namespace of the add-on as the first object, unless every
// cluster has it or the add-on contains it.
func withNamespace(name string, objects []workload.Object) []workload.Object {
	if name == "default" || strings.HasPrefix(name, "kube-") {
		return objects
	}
	for _, o := range objects {
		if o.GetKind() == "Namespace" && o.GetName() == name {
			return objects
		}
	}
	made := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
	return append([]workload.Object{{Unstructured: made, At: "airgap.yaml"}}, objects...)
}

// carriesSecret reports whether an object contains a secret that anyone with access to
// the USB drive can read.
func carriesSecret(o workload.Object) bool {
	if o.GetKind() != "Secret" || o.GroupVersionKind().Group != "" {
		return false
	}
	for _, key := range []string{"data", "stringData"} {
		if values, _ := o.Object[key].(map[string]any); len(values) > 0 {
			return true
		}
	}
	return false
}

// planManifests returns the images of images.manifests; airgap does not install their
// objects.
func (p *Plan) planManifests(ctx context.Context, up upstream, r Request, progress ui.Progress) ([]Need, error) {
	found, err := each(ctx, "resolve manifests", r.Manifests, progress, func(ctx context.Context, from string) (manifest, error) {
		m, err := up.readManifest(ctx, r, from, "")
		if err != nil {
			return m, fmt.Errorf("images.manifests: %w", err)
		}
		return m, nil
	})
	errs := []error{err}
	var needs []Need
	for i, m := range found {
		for _, n := range m.Notices {
			p.Warnings = append(p.Warnings, "images.manifests: "+n)
		}
		p.Sets = append(p.Sets, operators.Set{Of: fetch.Presentable(r.Manifests[i]), Objects: m.Objects})
		refs, err := workload.Images(m.Objects, "")
		if err != nil {
			errs = append(errs, fmt.Errorf("images.manifests: %w", err))
		}
		p.guesses(m.Objects, "", fetch.Presentable(r.Manifests[i]))
		for _, ref := range refs {
			needs = append(needs, Need{Reference: ref.Image, NeededBy: fetch.Presentable(r.Manifests[i]) + ": " + ref.Where})
		}
		if m.source != nil {
			p.Lock.Manifests = append(p.Lock.Manifests, *m.source)
		}
	}
	return needs, errors.Join(errs...)
}
