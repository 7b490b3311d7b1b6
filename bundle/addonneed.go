package bundle

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/invopop/jsonschema"
	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/rpm"
)

// AddonNeed is one item of the addons section of airgap.yaml: objects to include with
// their images and to install. Paths are relative to airgap.yaml.
type AddonNeed struct {
	Name      string     `yaml:"name" json:"name" jsonschema:"required,description=Name of the add-on and its Helm release: a DNS label,example=monitoring"`
	Namespace string     `yaml:"namespace" json:"namespace,omitempty" jsonschema:"description=Namespace for objects without one; airgap creates it if necessary. Default: the name of the add-on"`
	Chart     *ChartNeed `yaml:"chart" json:"chart,omitempty" jsonschema:"description=Helm chart. airgap renders it on the connected host"`
	Values    Values     `yaml:"values" json:"values,omitzero" jsonschema_description:"Values for the chart, as for helm --values: the path of a YAML file, or the values. Do not write secrets here: name a Secret that exists in the cluster."`
	Manifests []string   `yaml:"manifests" json:"manifests,omitempty" jsonschema:"description=Files with Kubernetes objects (path or https URL) to apply after the chart"`
}

// ChartNeed is the source of a chart: a repository with name and version, or a path.
type ChartNeed struct {
	Repository string    `yaml:"repository" json:"repository,omitempty" jsonschema:"description=https URL of a chart repository (its index may contain oci:// URLs) or oci://HOST/PATH without the chart's name,example=https://grafana.github.io/helm-charts"`
	Name       string    `yaml:"name" json:"name,omitempty" jsonschema:"description=Name of the chart in its repository"`
	Version    string    `yaml:"version" json:"version,omitempty" jsonschema:"description=Exact version of the chart"`
	Path       string    `yaml:"path" json:"path,omitempty" jsonschema:"description=Directory or archive (.tgz) with the chart; replaces repository"`
	Login      rpm.Login `yaml:"login" json:"login,omitzero" jsonschema:"description=Login at the repository of the chart. For oci:// a user name and password; it counts if the login files of podman and docker have none"`
}

// Values are the values of a chart: a file, or inline text in airgap.yaml.
type Values struct {
	File string
	Text []byte // the original YAML, because Helm's parser reads "yes" as true
}

// UnmarshalYAML is yaml.Unmarshaler.
func (v *Values) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return node.Decode(&v.File)
	}
	var inline map[string]any
	if err := node.Decode(&inline); err != nil { // detects duplicate keys and recursive aliases
		return err
	}
	text, err := yaml.Marshal(withoutAliases(node))
	v.Text = text
	return err
}

// withoutAliases returns a copy of the node with resolved aliases.
func withoutAliases(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	copied := &yaml.Node{Kind: node.Kind, Style: node.Style, Tag: node.Tag, Value: node.Value}
	for _, child := range node.Content {
		copied.Content = append(copied.Content, withoutAliases(child))
	}
	return copied
}

// JSONSchema is the schema, which cannot be derived from the type.
func (Values) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "object"}}}
}

// Addons is the addons section of airgap.yaml.
type Addons []AddonNeed

// Default sets the missing fields.
func (a Addons) Default() {
	for i := range a {
		if a[i].Namespace == "" {
			a[i].Namespace = a[i].Name
		}
	}
}

// Validate reports every problem of the section.
func (a Addons) Validate(at *field.Path) field.ErrorList {
	var all field.ErrorList
	names := map[string]bool{}
	for i, one := range a {
		p := at.Index(i)
		if names[one.Name] {
			all = append(all, field.Duplicate(p.Child("name"), one.Name))
		}
		names[one.Name] = true
		all = append(all, one.validate(p)...)
	}
	return all
}

func (a AddonNeed) validate(at *field.Path) field.ErrorList {
	var all field.ErrorList
	for _, problem := range validation.IsDNS1123Label(a.Name) {
		all = append(all, field.Invalid(at.Child("name"), a.Name, problem))
	}
	if a.Namespace != a.Name {
		for _, problem := range validation.IsDNS1123Label(a.Namespace) {
			all = append(all, field.Invalid(at.Child("namespace"), a.Namespace, problem))
		}
	}
	switch {
	case a.Chart != nil:
		all = append(all, a.Chart.validate(at.Child("chart"))...)
	case a.Values.File != "" || a.Values.Text != nil:
		all = append(all, field.Invalid(at.Child("values"), "", "values without a chart have no effect"))
	case len(a.Manifests) == 0:
		all = append(all, field.Required(at, "an add-on requires a chart or manifests"))
	}
	return append(all, validateManifests(a.Manifests, at.Child("manifests"))...)
}

func (c ChartNeed) validate(at *field.Path) field.ErrorList {
	if c.Path != "" {
		if c.Login != (rpm.Login{}) {
			return field.ErrorList{field.Forbidden(at.Child("login"), "a chart with path has no login")}
		}
		if c.Repository != "" || c.Name != "" || c.Version != "" {
			return field.ErrorList{field.Invalid(at, c.Path, "set path, or repository, name and version")}
		}
		return nil
	}
	var all field.ErrorList
	if u, err := url.Parse(c.Repository); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "oci" {
		all = append(all, field.Invalid(at.Child("repository"), fetch.Presentable(c.Repository), "want https://HOST/PATH or oci://HOST/PATH, or set path instead"))
	}
	all = append(all, c.Login.ValidateChart(c.Repository, at.Child("login"))...)
	if strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789-._") != "" || c.Name == "" {
		all = append(all, field.Invalid(at.Child("name"), c.Name, "want the chart's name in the repository: lower-case letters, digits, dashes"))
	}
	if !isChartVersion(c.Version) {
		all = append(all, field.Invalid(at.Child("version"), c.Version, "want an exact version, such as 1.2.3, so that the bundle has the verified version"))
	}
	return all
}

func validateManifests(files []string, at *field.Path) field.ErrorList {
	var all field.ErrorList
	for i, from := range files {
		if err := checkSource(from); err != nil {
			all = append(all, field.Invalid(at.Index(i), fetch.Presentable(from), err.Error()))
		}
	}
	return all
}

// checkSource requires a path or an https URL.
func checkSource(from string) error {
	if from == "" {
		return errors.New("want a path or an https URL")
	}
	if !strings.Contains(from, "://") {
		return nil
	}
	if u, err := url.Parse(from); err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("want a path or an https URL")
	}
	return nil
}

// isChartVersion accepts a number with dots at the start, and only characters that are
// allowed in a file name.
func isChartVersion(version string) bool {
	digits := strings.TrimPrefix(version, "v")
	return digits != "" && digits[0] >= '0' && digits[0] <= '9' && strings.Contains(digits, ".") && isPlainName(strings.ReplaceAll(version, "+", "."))
}
