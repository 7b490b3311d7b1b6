// Package operators finds the images that the pods of known operators pull.
//
// Many operators have image names in their code, so no object shows them. Rules list
// these images: one file for each operator in rules/, with a range of versions and the
// source of the fact. Find takes the objects of a bundle and returns a list of
// operators with image references. The list also has operators of a version without a
// rule, and workloads without a rule that can create pods.
//
// The package fetches nothing and asks no cluster.
package operators

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"airgap.dev/airgap/bundle/workload"
	"airgap.dev/airgap/internal/reference"
)

// Set has the objects of one add-on or file.
type Set struct {
	Of        string // "add-on search"
	Namespace string // default for objects without one
	Installed bool   // false if the bundle only contains the images of the objects
	Objects   []workload.Object
}

// Operator is a workload that creates pods itself.
type Operator struct {
	By       string   `json:"by"`             // "add-on search: StatefulSet elastic/operator"
	Image    string   `json:"image"`          // its image; the first one if there is no rule
	Rule     string   `json:"rule,omitempty"` // name of the rule; "" for none
	Warnings []string `json:"warnings,omitempty"`
	// Unknown: its pods may pull unknown images. An operator without custom resources
	// is known, because it pulls nothing before they exist.
	Unknown bool `json:"unknown,omitempty"`

	Refs []workload.Ref `json:"-"` // images of its pods, by the rule
}

// maxVersions limits the versions of one operator in one bundle, because each version
// is compared with all custom resources of the operator.
const maxVersions = 8

// Find lists the operators among the objects of all sets, with the images that
// their pods pull according to the rules. The custom resources of an operator
// may be in any set.
func Find(sets []Set, rules []Rule) []Operator {
	f := finder{byRepository: byPath(rules), resources: resourcesOf(sets), creators: creatorsOf(sets), done: map[string][]string{}}
	for _, s := range sets {
		for _, o := range s.Objects {
			if images := PodImages(o); len(images) > 0 {
				f.workload(s, o, images)
			}
		}
	}
	return f.operators
}

type finder struct {
	byRepository map[string][]*Rule // by the last part of the repository's path
	resources    map[string][]resource
	creators     creators
	done         map[string][]string // images that are already expanded, by rule
	operators    []Operator
}

// workload searches a rule for one of the images. Without a rule it checks whether
// the workload can create pods.
func (f *finder) workload(s Set, o workload.Object, images []string) {
	by := s.Of + ": " + o.Title(s.Namespace)
	known := false
	for _, image := range images {
		named, err := reference.Parse(image)
		if err != nil {
			continue // resolving the images reports it
		}
		for _, rule := range f.byRepository[named.Base()] {
			if rule.knows(named) {
				known = true
				f.apply(rule, o, Operator{By: by, Image: image, Rule: rule.Name}, named)
			}
		}
	}
	if !known && f.creators.may(o, s.Namespace) {
		f.operators = append(f.operators, Operator{By: by, Image: images[0], Unknown: true, Warnings: []string{
			"it can create pods, and no rule knows their images: list the images that are only in its code in images.list",
		}})
	}
}

// apply adds the images of this version of the operator.
func (f *finder) apply(rule *Rule, o workload.Object, op Operator, named reference.Reference) {
	key := named.String()
	seen := f.done[rule.Name]
	switch {
	case slices.Contains(seen, key):
	case len(seen) >= maxVersions:
		op.unknown("the bundle has more than %d versions of this operator, so airgap did not look up the images of this version: list them in images.list", maxVersions)
	default:
		f.done[rule.Name] = append(seen, key)
		f.expand(&op, rule, o, named)
	}
	f.operators = append(f.operators, op)
}

// expand adds the references, and reports each image that the rule cannot name.
func (f *finder) expand(op *Operator, rule *Rule, o workload.Object, named reference.Reference) {
	tag, number, err := versionOf(named)
	if err != nil && !rule.anyVersion() {
		op.unknown("its version is not known (%v), so the images of its pods are not known: list them in images.list", err)
		return
	}
	r := rule.rangeOf(number)
	if r == nil {
		op.unknown("rule %s knows versions %s, not %s: list the images of its pods in images.list, or add a rule for this version to images.rules", rule.Name, rule.versions(), tag)
		return
	}
	of := operand{tag: tag, number: strings.TrimPrefix(tag, "v"), repository: strings.TrimSuffix(named.Repository(), "/"+named.Base()), matches: r.Matches}
	add := func(templates []string, of operand, where, instead string) {
		for _, t := range templates {
			image, err := of.expand(t)
			switch {
			case err == nil:
				op.Refs = append(op.Refs, workload.Ref{Image: image, Where: fmt.Sprintf("%s, by rule %s", where, rule.Name)})
			case r.Shown == "": // with Shown the objects name all other images
				op.unknown("the image %s for %s is not known: %v; list it in images.list%s", t, where, err, instead)
			}
		}
	}
	if !hasWord(o, r.Unless) {
		add(r.Images, of, op.By, "")
	}
	found := len(r.Images) > 0
	for _, want := range r.Resources {
		for _, one := range f.resources[want.key()] {
			found = true
			if !want.silent(one.Object) {
				add(want.Images, of.with(one.Object, want.Defaults), one.title, want.instead())
			}
		}
	}
	if r.Shown == "" && len(r.Resources) > 0 && !found {
		op.Warnings = append(op.Warnings, fmt.Sprintf("no object of kind %s is in this bundle: if you create such objects later, list their images in images.list", strings.Join(r.kinds(), ", ")))
	}
}

// unknown adds a warning about unknown images of an operator's pods.
func (o *Operator) unknown(format string, args ...any) {
	o.Unknown, o.Warnings = true, append(o.Warnings, fmt.Sprintf(format, args...))
}

// resource is an object with its place: "add-on search: Elasticsearch logs/es".
type resource struct {
	workload.Object
	title string
}

// resourcesOf returns all objects by group and kind.
func resourcesOf(sets []Set) map[string][]resource {
	all := map[string][]resource{}
	for _, s := range sets {
		for _, o := range s.Objects {
			gvk := o.GroupVersionKind()
			key := gvk.Group + "/" + gvk.Kind
			all[key] = append(all[key], resource{o, s.Of + ": " + o.Title(s.Namespace)})
		}
	}
	return all
}

// PodImages returns the images of the containers of a Deployment, StatefulSet or
// DaemonSet.
func PodImages(o workload.Object) []string {
	if !slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, o.GetKind()) || o.GroupVersionKind().Group != "apps" {
		return nil
	}
	spec := podSpec(o)
	var images []string
	for _, key := range []string{"containers", "initContainers"} {
		list, _ := spec[key].([]any)
		for _, item := range list {
			c, _ := item.(map[string]any)
			if image, _ := c["image"].(string); image != "" && !slices.Contains(images, image) {
				images = append(images, image)
			}
		}
	}
	return images
}

// hasWord reports whether a container of the workload has one of the words as
// an argument or as a variable.
func hasWord(o workload.Object, words []string) bool {
	spec := podSpec(o)
	for _, key := range []string{"containers", "initContainers"} {
		list, _ := spec[key].([]any)
		for _, item := range list {
			c, _ := item.(map[string]any)
			command, _ := c["command"].([]any)
			arguments, _ := c["args"].([]any)
			for _, one := range slices.Concat(command, arguments) {
				if flag, _, _ := strings.Cut(text(one), "="); slices.Contains(words, flag) {
					return true
				}
			}
			variables, _ := c["env"].([]any)
			for _, one := range variables {
				variable, _ := one.(map[string]any)
				if slices.Contains(words, text(variable["name"])) {
					return true
				}
			}
		}
	}
	return false
}

// HasVariable reports whether a container of the workload has a variable with
// this value.
func HasVariable(o workload.Object, name, value string) bool {
	list, _ := podSpec(o)["containers"].([]any)
	for _, item := range list {
		c, _ := item.(map[string]any)
		variables, _ := c["env"].([]any)
		for _, one := range variables {
			if variable, _ := one.(map[string]any); variable["name"] == name && variable["value"] == value {
				return true
			}
		}
	}
	return false
}

func podSpec(o workload.Object) map[string]any {
	spec, _ := o.Object["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	pod, _ := template["spec"].(map[string]any)
	return pod
}

// versionOf returns the tag of an image and its version. If the tag is not a version,
// it returns the tag with the error.
func versionOf(named reference.Reference) (string, *semver.Version, error) {
	if named.Tag == "" {
		return "", nil, fmt.Errorf("its image has no tag")
	}
	v, err := semver.StrictNewVersion(strings.TrimPrefix(named.Tag, "v"))
	if err != nil {
		return named.Tag, nil, fmt.Errorf("tag %s is not a version", named.Tag)
	}
	return named.Tag, v, nil
}

func byPath(rules []Rule) map[string][]*Rule {
	all := map[string][]*Rule{}
	for i := range rules {
		last := map[string]bool{}
		for _, repository := range rules[i].Operator {
			last[reference.BaseOf(repository)] = true
		}
		for _, part := range slices.Sorted(maps.Keys(last)) {
			all[part] = append(all[part], &rules[i])
		}
	}
	return all
}
