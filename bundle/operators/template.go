package operators

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"airgap.dev/airgap/bundle/workload"
	"airgap.dev/airgap/internal/reference"
)

// maxValue limits the value of a field that becomes part of an image name, in bytes: a
// tag has at most 128.
const maxValue = 128

// operand has the values of the placeholders.
type operand struct {
	tag        string            // {version}: the operator's tag, "v1.5.0"
	number     string            // {number}: without the v, "1.5.0"
	repository string            // {repository}: the repository of the operator's image without its name, "quay.io/kubevirt"
	matches    map[string]string // {matched}
	object     map[string]any    // {spec.version}: a field of the custom resource
	defaults   map[string]string
}

func (of operand) with(o workload.Object, defaults map[string]string) operand {
	of.object, of.defaults = o.Object, defaults
	return of
}

var placeholder = regexp.MustCompile(`\{([A-Za-z0-9_.-]*)\}`)

// expand returns the image reference of a template.
func (of operand) expand(template string) (string, error) {
	var errs []error
	image := placeholder.ReplaceAllStringFunc(template, func(found string) string {
		value, err := of.value(strings.Trim(found, "{}"))
		errs = append(errs, err)
		return value
	})
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	if _, err := reference.Parse(image); err != nil {
		return "", fmt.Errorf("%q is not an image reference", image)
	}
	return image, nil
}

func (of operand) value(name string) (string, error) {
	switch name {
	case "version":
		return of.tag, nil
	case "number":
		return of.number, nil
	case "repository":
		return of.repository, nil
	case "matched":
		if value, known := of.matches[of.number]; known {
			return value, nil
		}
		return "", fmt.Errorf("the rule has no match for version %s", of.tag)
	}
	value := cmp.Or(text(fieldOf(of.object, name)), of.defaults[name])
	switch {
	case value == "":
		return "", fmt.Errorf("%s is not set", name)
	case len(value) > maxValue:
		return "", fmt.Errorf("%s has %d bytes, which is too long for a version or name", name, len(value))
	}
	return value, nil
}

// text returns the value of a field that is a string. A number is not a version: 7.10
// would be 7.1.
func text(value any) string {
	s, _ := value.(string)
	return s
}

// fieldOf returns the value at a path of fields; nil if there is none.
func fieldOf(object map[string]any, path string) any {
	var value any = object
	for key := range strings.SplitSeq(path, ".") {
		m, is := value.(map[string]any)
		if !is {
			return nil
		}
		value = m[key]
	}
	return value
}

// checkTemplate refuses a template that cannot become an image.
func checkTemplate(template string, matched, fields bool) error {
	unknown := ""
	image := placeholder.ReplaceAllStringFunc(template, func(found string) string {
		switch name := strings.Trim(found, "{}"); {
		case name == "version", name == "number":
			return "1.0.0"
		case name == "repository":
			return "registry.example/project"
		case name == "matched" && matched, fields && strings.Contains(name, "."):
			return "1.0.0"
		default:
			unknown = found
			return ""
		}
	})
	switch {
	case unknown == "{matched}":
		return fmt.Errorf("%q: {matched} requires matches", template)
	case unknown != "":
		return fmt.Errorf("%q: %s is not a placeholder; use {version}, {number}, {repository}, {matched}, or in resources a field such as {spec.version}", template, unknown)
	}
	if fields && image == "1.0.0" {
		return nil // a field with a complete reference
	}
	named, err := reference.ParseFull(image)
	if err != nil || named.Bare() {
		return fmt.Errorf("%q: expected an image with its registry and a tag or digest", template)
	}
	return nil
}
