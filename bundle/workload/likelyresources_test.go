package workload_test

import (
	"testing"

	"airgap.dev/airgap/bundle/workload"
)

// TestLikelyInResources: images next to the settings of a container are found, and parts below keys
// that have another meaning in containers.
func TestLikelyInResources(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"parts next to env":         {`{image: {repository: nvcr.io/nim/x, tag: "1.0"}, env: []}`, "nvcr.io/nim/x:1.0"},
		"parts next to a context":   {`{values: {controller: {image: {registry: quay.io, repository: x/y, tag: "1"}, securityContext: {}}}}`, "quay.io/x/y:1"},
		"one word next to a policy": {`{image: "spark:3.5.3", imagePullPolicy: Always}`, "spark:3.5.3"},
		"no tag, next to env":       {`{image: quay.io/x/y, env: []}`, "quay.io/x/y"},
		"parts in a container":      {`{containers: [{name: a, image: {repository: quay.io/x/y, tag: "1"}}]}`, "quay.io/x/y:1"},
		"below resources":           {`{resources: {sidecar: {image: "quay.io/x/y:1"}}}`, "quay.io/x/y:1"},
		"a document as an argument": {`{args: ['--config={"sidecar":"quay.io/x/y:1"}']}`, "quay.io/x/y:1"},
		"parts as arguments":        {`{args: [--sidecar-image-repository=quay.io/x/y, --sidecar-image-tag=1]}`, "quay.io/x/y:1"},
		"a list as an argument":     {`{args: ['[{"image":"shop/y:one"}]']}`, "shop/y:one"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := workload.Parse("f.yaml", []byte("apiVersion: x.example/v1\nkind: Thing\nmetadata: {name: c}\nspec: "+tc.spec+"\n"))
			must(t, err)
			if _, err := workload.Images(objects, "shop"); err != nil {
				t.Errorf("Images: %v", err)
			}
			found, _ := workload.Likely(objects, "shop")
			if len(found) != 1 || found[0].Image != tc.want {
				t.Errorf("got %+v, want only %s", found, tc.want)
			}
		})
	}
	limits := "apiVersion: x.example/v1\nkind: Thing\nmetadata: {name: c}\nspec: {resources: {limits: {image: \"quay.io/x/y:1\"}}}\n"
	objects, err := workload.Parse("f.yaml", []byte(limits))
	must(t, err)
	if found, _ := workload.Likely(objects, "shop"); len(found) > 0 {
		t.Errorf("limits of a container have candidates: %+v", found)
	}
}
