package workload_test

import (
	"slices"
	"testing"
)

// TestDefaultsOfDefinitions: the API server sets the defaults of the definition in an
// object without the field.
func TestDefaultsOfDefinitions(t *testing.T) {
	for properties, want := range map[string][]string{
		`image: {type: string, default: "shop/till:stable"}`:                                                                 {"shop/till:stable"},
		`place: {type: string, default: "quay.io/x/y:1"}`:                                                                    {"quay.io/x/y:1"},
		`a: {type: object, properties: {image: {type: object, default: {repository: quay.io/x/y, tag: "1"}}}}`:               {"quay.io/x/y:1"},
		`image: {type: object, properties: {repository: {default: quay.io/x/y}, tag: {default: "1"}}}`:                       {"quay.io/x/y:1"},
		`image: {type: object, default: {tag: "2"}, properties: {repository: {default: quay.io/x/y}, tag: {default: "1"}}}`:  {"quay.io/x/y:2"},
		`sidecars: {type: array, items: {type: object, properties: {image: {default: "quay.io/x/y:1"}}}}`:                    {"quay.io/x/y:1"},
		`sidecars: {type: array, default: [{image: "quay.io/x/y:1"}]}`:                                                       {"quay.io/x/y:1"},
		`pools: {type: object, additionalProperties: {properties: {image: {default: "quay.io/x/y:1"}}}}`:                     {"quay.io/x/y:1"},
		`cache: {type: object, properties: {enabled: {default: false}, image: {default: "quay.io/x/y:1"}}}`:                  {"quay.io/x/y:1"},
		`cache: {type: object, default: {enabled: false, image: "quay.io/x/y:1"}}`:                                           {"quay.io/x/y:1"},
		`image: {type: string, description: "for example quay.io/x/y:1", example: "quay.io/x/y:1", enum: ["quay.io/x/y:1"]}`: nil,
		`imagePullPolicy: {type: string, default: IfNotPresent}, port: {default: 80}, address: {default: "till:80"}`:         nil,
	} {
		text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: tills.shop.example}\nspec:\n  group: shop.example\n  names: {kind: Till}\n" +
			"  versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {" + properties + "}}}}}}, " +
			"{name: v1alpha1, served: false, schema: {openAPIV3Schema: {properties: {image: {default: 'quay.io/x/old:1'}}}}}]\n"
		if got := likely(t, text); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", properties, got, want)
		}
	}
}
