package operators

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/bundle/workload"
	"airgap.dev/airgap/internal/reference"
	"airgap.dev/airgap/internal/yamlfault"
)

// Rule lists the images that the pods of one operator pull.
type Rule struct {
	Name     string    `json:"name"`
	Operator []string  `json:"operator"` // repositories of its image: "quay.io/kubevirt/virt-operator"
	Ranges   []Range   `json:"ranges"`
	Examples []Example `json:"examples,omitempty"` // airgap's own rules need one, which a test checks
}

// Range is for some versions. Images, Resources and Shown describe where the images
// of the pods come from; at least one is required.
type Range struct {
	Versions string `json:"versions"` // ">=1.2.0 <1.6.0"; "*" includes tags that are not versions
	Source   string `json:"source"`   // project, file and version of the fact
	// Shown describes where the objects name the images. With Shown, an image that Images
	// and Resources cannot name needs no warning.
	Shown string `json:"shown,omitempty"`
	// Unless lists arguments and variables of the operator's pod, "--solver-image" or
	// "SOLVER_IMAGE". If one of them is set, the object names the images, and Images is ignored.
	Unless []string `json:"unless,omitempty"`
	// Matches has the values of {matched} by the operator's version, without v.
	Matches   map[string]string `json:"matches,omitempty"`
	Images    []string          `json:"images,omitempty"`
	Resources []Resource        `json:"resources,omitempty"`

	constraint *semver.Constraints
}

// Resource has the images that the operator runs for each custom resource of a kind.
type Resource struct {
	Group    string            `json:"group"`
	Kind     string            `json:"kind"`
	When     map[string]string `json:"when,omitempty"`     // ranges of versions in fields; other resources are skipped
	Unless   []string          `json:"unless,omitempty"`   // fields; if one is set, the resource names its image
	Defaults map[string]string `json:"defaults,omitempty"` // of optional fields
	Images   []string          `json:"images"`

	when map[string]*semver.Constraints
}

// Example has objects, and the images that the rule finds for them.
type Example struct {
	Objects []map[string]any `json:"objects"`
	Images  []string         `json:"images"`
}

//go:embed rules/*.yaml
var files embed.FS

// Builtin returns the rules of airgap, sorted by file name.
func Builtin() ([]Rule, error) { return read(files) }

func read(files fs.FS) ([]Rule, error) {
	names, err := fs.Glob(files, "rules/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []Rule
	var errs []error
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		rule, err := Parse(name, text)
		all, errs = append(all, rule), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// With replaces rules with those in own of the same name, and adds the others.
func With(rules, own []Rule) []Rule {
	all := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool {
		return slices.ContainsFunc(own, func(o Rule) bool { return o.Name == r.Name })
	})
	return append(all, own...)
}

// Parse reads the file of a rule. Errors name the file and the field.
func Parse(file string, text []byte) (Rule, error) {
	var rule Rule
	if len(text) > workload.MaxFile {
		return rule, fmt.Errorf("%s: the file has %d bytes, the limit is %d", file, len(text), workload.MaxFile)
	}
	if err := workload.CheckAliases(text); err != nil {
		return rule, fmt.Errorf("%s: %w", file, err)
	}
	plain, err := yaml.YAMLToJSONStrict(text) // a duplicate key is a mistake in the rule
	if err != nil {
		if fault := yamlfault.Find(text); fault != nil {
			return rule, fmt.Errorf("%s: %w", file, fault)
		}
		return rule, fmt.Errorf("%s: %s", file, strings.Join(strings.Fields(err.Error()), " "))
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	d.DisallowUnknownFields()
	if err := d.Decode(&rule); err != nil {
		return rule, fmt.Errorf("%s: %s", file, explain(text, err))
	}
	if err := rule.check(); err != nil {
		return rule, fmt.Errorf("%s: %w", file, err)
	}
	return rule, nil
}

var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,62}$`)

func (r *Rule) check() error {
	if !plainName.MatchString(r.Name) {
		return fmt.Errorf("name %q: expected lower-case letters, digits and dashes", r.Name)
	}
	if len(r.Operator) == 0 {
		return errors.New("operator: expected the repositories of the operator's image")
	}
	for i, repository := range r.Operator {
		named, err := reference.ParseFull(repository)
		if err != nil || !named.Bare() {
			return fmt.Errorf("operator[%d]: %q: expected a repository with its registry and without a tag, such as quay.io/kubevirt/virt-operator", i, repository)
		}
	}
	if len(r.Ranges) == 0 {
		return errors.New("ranges: expected at least one range of versions")
	}
	for i := range r.Ranges {
		if err := r.Ranges[i].check(); err != nil {
			return fmt.Errorf("ranges[%d].%w", i, err)
		}
	}
	return nil
}

func (r *Range) check() error {
	var err error
	if r.constraint, err = semver.NewConstraint(r.Versions); err != nil || strings.TrimSpace(r.Versions) == "" {
		return fmt.Errorf("versions: %q: expected a range such as \">=1.2.0 <1.6.0\"", r.Versions)
	}
	if strings.TrimSpace(r.Source) == "" {
		return errors.New("source: expected the project, file and version of the fact")
	}
	if r.Shown == "" && len(r.Images) == 0 && len(r.Resources) == 0 {
		return errors.New("images: expected images, resources, or in shown the place where the objects name the images")
	}
	for i, t := range r.Images {
		if err := checkTemplate(t, r.Matches != nil, false); err != nil {
			return fmt.Errorf("images[%d]: %w", i, err)
		}
	}
	for i := range r.Resources {
		if err := r.Resources[i].check(r.Matches != nil); err != nil {
			return fmt.Errorf("resources[%d].%w", i, err)
		}
	}
	return nil
}

func (r *Resource) check(matched bool) error {
	if r.Kind == "" {
		return errors.New("kind: expected the kind of a custom resource")
	}
	if len(r.Images) == 0 {
		return errors.New("images: expected the images that the operator runs for it")
	}
	for i, t := range r.Images {
		if err := checkTemplate(t, matched, true); err != nil {
			return fmt.Errorf("images[%d]: %w", i, err)
		}
	}
	r.when = map[string]*semver.Constraints{}
	for path, versions := range r.When {
		var err error
		if r.when[path], err = semver.NewConstraint(versions); err != nil {
			return fmt.Errorf("when: %s: %q: expected a range such as \">=9.0.0\"", path, versions)
		}
	}
	return nil
}

// knows reports whether the image is the operator's: from the repository of the rule,
// or from a copy of it at another registry, such as a mirror.
func (r *Rule) knows(image reference.Reference) bool {
	path := "/" + image.Path
	return slices.ContainsFunc(r.Operator, func(repository string) bool {
		_, own := reference.SplitHost(repository)
		return strings.HasSuffix(path, "/"+own)
	})
}

// everyVersion is the range that includes tags that are not versions.
const everyVersion = "*"

func (r *Rule) anyVersion() bool {
	return slices.ContainsFunc(r.Ranges, func(one Range) bool { return one.Versions == everyVersion })
}

// rangeOf returns the first range that includes a version; nil if there is none. The
// version is nil for a tag that is not a version.
func (r *Rule) rangeOf(version *semver.Version) *Range {
	for i := range r.Ranges {
		if one := r.Ranges[i]; one.Versions == everyVersion || version != nil && one.constraint.Check(version) {
			return &r.Ranges[i]
		}
	}
	return nil
}

func (r *Rule) versions() string {
	var all []string
	for _, one := range r.Ranges {
		all = append(all, one.Versions)
	}
	return strings.Join(all, ", ")
}

func (r *Range) kinds() []string {
	var all []string
	for _, one := range r.Resources {
		if !slices.Contains(all, one.Kind) {
			all = append(all, one.Kind)
		}
	}
	return all
}

func (r Resource) key() string { return r.Group + "/" + r.Kind }

// silent reports whether the object names its image, or has a version outside of When.
// A version that cannot be parsed is inside, so that the missing image is reported.
func (r Resource) silent(o workload.Object) bool {
	for path, versions := range r.when {
		if v, err := semver.NewVersion(cmp.Or(text(fieldOf(o.Object, path)), r.Defaults[path])); err == nil && !versions.Check(v) {
			return true
		}
	}
	return slices.ContainsFunc(r.Unless, func(path string) bool {
		value := fieldOf(o.Object, path)
		return value != nil && value != ""
	})
}

// instead returns another instruction to make the image known, or "".
func (r Resource) instead() string {
	if len(r.Unless) == 0 {
		return ""
	}
	return ", or set " + r.Unless[0]
}
