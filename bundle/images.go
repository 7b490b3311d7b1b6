package bundle

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/reference"
)

// Images is the images section of airgap.yaml.
type Images struct {
	List []string `yaml:"list" json:"list,omitempty" jsonschema:"description=Image references to include in addition to those that Kubernetes needs,example=docker.io/library/nginx:1.27"`
	// Manifests are read only for their images; the objects of addons are also installed.
	Manifests []string       `yaml:"manifests" json:"manifests,omitempty" jsonschema:"description=Files with Kubernetes objects: paths relative to airgap.yaml or https URLs. The bundle includes their images. airgap does not install the objects"`
	Rules     []string       `yaml:"rules" json:"rules,omitempty" jsonschema_description:"Files with rules for the images that an operator's pods pull, in addition to airgap's rules: paths relative to airgap.yaml. A rule with the name of one of airgap's rules replaces it. The page operators describes the format."`
	Ignore    []IgnoredImage `yaml:"ignore" json:"ignore,omitempty" jsonschema_description:"References that no pod pulls, each with a reason: text that looks like an image in an argument, a variable, a setting or a chart annotation. The bundle does not contain them, and the report lists them."`
}

// Validate reports every invalid reference and source.
func (i Images) Validate(at *field.Path) field.ErrorList {
	var all field.ErrorList
	for n, ref := range i.List {
		if _, err := FullName(ref); err != nil {
			all = append(all, field.Invalid(at.Child("list").Index(n), ref, err.Error()))
		}
	}
	for n, file := range i.Rules {
		if file == "" || isURL(file) {
			all = append(all, field.Invalid(at.Child("rules").Index(n), fetch.Presentable(file), "expected a path"))
		}
	}
	all = append(all, validateIgnored(i.Ignore, at.Child("ignore"))...)
	return append(all, validateManifests(i.Manifests, at.Child("manifests"))...)
}

// FullName returns an image reference with its host, path and tag or digest: "nginx"
// becomes "docker.io/library/nginx:latest".
func FullName(ref string) (string, error) {
	named, err := parseName(ref)
	if err != nil {
		return "", err
	}
	return named.String(), nil
}

func parseName(text string) (reference.Reference, error) {
	ref, err := reference.Parse(text)
	if err == nil && ref.Digest != "" && !strings.HasPrefix(ref.Digest, "sha256:") {
		err = fmt.Errorf("image reference %q: only sha256 digests are supported", text)
	}
	return ref.Tagged(), err
}
