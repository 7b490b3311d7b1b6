package workload

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	k8syaml "sigs.k8s.io/yaml"
)

// Annotated finds the images in the annotations of a chart, in the format of Artifact
// Hub and Helm's HIP 15: a list of mappings with image. where is the place for errors.
func Annotated(annotations map[string]string, where string) ([]Ref, error) {
	var all []Ref
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if key != "artifacthub.io/images" && key != "helm.sh/images" {
			continue
		}
		var list []struct {
			Image string `json:"image"`
		}
		text := []byte(annotations[key])
		err := CheckAliases(text)
		if err == nil {
			err = k8syaml.Unmarshal(text, &list)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s, annotation %s: expected a list of name and image: %w", where, key, err))
		}
		for _, one := range list {
			if ref := (Ref{one.Image, where + ", annotation " + key}); one.Image != "" && !slices.Contains(all, ref) {
				all = append(all, ref)
			}
		}
	}
	return all, errors.Join(errs...)
}

// mapping reads a YAML or JSON text that is a mapping.
func mapping(text []byte) (map[string]any, error) {
	if err := CheckAliases(text); err != nil {
		return nil, err
	}
	var m map[string]any
	if err := k8syaml.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	return m, nil
}
