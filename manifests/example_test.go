package manifests_test

import (
	"fmt"

	"airgap.dev/airgap/manifests"
)

func ExampleParse() {
	objects, err := manifests.Parse([]byte("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(objects[0].GetKind(), objects[0].GetName())
	// Output: Namespace shop
}
