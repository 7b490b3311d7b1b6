package workload

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Ref is one image reference, unchanged, with its place.
type Ref struct {
	Image string
	Where string // "Deployment shop/till, container till"
}

// Images finds the references of all objects. namespace is the default for objects
// without one. Errors name the place.
func Images(objects []Object, namespace string) ([]Ref, error) {
	var all []Ref
	var errs []error
	settings := settingsOf(objects, namespace)
	for _, o := range objects {
		if o.IsDefinition() {
			continue // its schema describes pod templates, but it has none
		}
		f := finder{title: o.Title(namespace), namespace: namespaceOf(o, namespace), settings: settings, at: o.At, strict: isWorkload(o)}
		for key, value := range sorted(o.Object) {
			if key != "status" && key != "metadata" {
				f.field(key, value)
			}
		}
		f.known(o)
		all = append(all, f.refs...)
		errs = append(errs, f.errs...)
	}
	return all, errors.Join(errs...)
}

// finder collects the references of one object.
type finder struct {
	title, namespace, at string
	settings             *settings // of all objects
	strict               bool      // a container without an image is an error
	refs                 []Ref
	errs                 []error
}

func (f *finder) add(image, where string) {
	ref := Ref{strings.TrimSpace(image), f.title + ", " + where}
	if ref.Image != "" && !slices.Contains(f.refs, ref) {
		f.refs = append(f.refs, ref)
	}
}

func (f *finder) complain(where, format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf("%s: %s, %s: %s", f.at, f.title, where, fmt.Sprintf(format, args...)))
}

// containerLists reports whether a field is a list of containers, and the name of its items.
func containerLists(key string) (name string, is bool) {
	switch key {
	case "containers":
		return "container", true
	case "initContainers":
		return "init container", true
	case "ephemeralContainers":
		return "ephemeral container", true
	}
	return "", false
}

// field searches one field and all fields below. It accepts a list of containers in any
// place, because custom resources contain pod templates.
func (f *finder) field(key string, value any) {
	if list, is := value.([]any); is {
		if kind, is := containerLists(key); is {
			f.containers(kind, list)
		}
		if key == "volumes" {
			f.volumes(list)
		}
	}
	f.below(value)
}

func (f *finder) below(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, value := range sorted(v) {
			f.field(key, value)
		}
	case []any:
		for _, item := range v {
			f.below(item)
		}
	}
}

func (f *finder) containers(kind string, list []any) {
	for i, item := range list {
		c, is := item.(map[string]any)
		if !is {
			continue
		}
		where := fmt.Sprintf("%s %d", kind, i+1)
		if name, is := c["name"].(string); is {
			where = kind + " " + name
		}
		image, exists := c["image"]
		text, is := image.(string)
		switch {
		case exists && image != nil && !is && f.strict:
			f.complain(where, "image is %v, expected a string", image)
		case text == "" && f.strict:
			f.complain(where, "has no image")
		case text == injected && c["name"] == injectedName:
			// Istio's webhook sets the image when the pod is created; see proxyOf.
		default:
			f.add(text, where)
		}
		f.arguments(f.settings.expanded(c, f.namespace), where)
	}
}

// volumes finds the images of image volumes.
func (f *finder) volumes(list []any) {
	for i, item := range list {
		v, _ := item.(map[string]any)
		source, _ := v["image"].(map[string]any)
		reference, _ := source["reference"].(string)
		where := fmt.Sprintf("image volume %d", i+1)
		if name, is := v["name"].(string); is {
			where = "image volume " + name
		}
		f.add(reference, where)
	}
}

// isWorkload reports whether the object is of a built-in kind, so that each of its containers
// needs an image.
func isWorkload(o Object) bool {
	switch o.GroupVersionKind().Group {
	case "", "apps", "batch":
		return true
	}
	return false
}

// sorted iterates over a map in the order of its keys.
func sorted(m map[string]any) func(yield func(string, any) bool) {
	return func(yield func(string, any) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
