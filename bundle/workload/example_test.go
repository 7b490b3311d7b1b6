package workload_test

import (
	"fmt"

	"airgap.dev/airgap/bundle/workload"
)

func Example() {
	objects, err := workload.Parse("till.yaml", []byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: till}
spec:
  template:
    spec:
      initContainers: [{name: prepare, image: "quay.io/shop/prepare:1"}]
      containers: [{name: till, image: "quay.io/shop/till:1"}]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	refs, err := workload.Images(objects, "shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range refs {
		fmt.Printf("%s for %s\n", r.Image, r.Where)
	}
	// Output:
	// quay.io/shop/till:1 for Deployment shop/till, container till
	// quay.io/shop/prepare:1 for Deployment shop/till, init container prepare
}
