package cni_test

import (
	"fmt"

	"airgap.dev/airgap/cni"
)

func ExampleImages() {
	var config cni.Config
	config.Default()
	for _, image := range cni.Images(config) {
		fmt.Println(image)
	}
	// Output:
	// ghcr.io/flannel-io/flannel:v0.28.4
	// ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel1
}
