package names_test

import (
	"fmt"

	"airgap.dev/airgap/registry/names"
)

// A runtime sends its mirror the path and, separately, the upstream host. Both together are the
// name of the repository.
func ExampleRepository() {
	fmt.Println(names.Repository("registry.k8s.io", "pause"))
	fmt.Println(names.Repository("docker.io", "nginx"))
	fmt.Println(names.Repository("quay.corp:8443", "team/app"))
	// Output:
	// registry.k8s.io/pause
	// docker.io/library/nginx
	// quay.corp_8443/team/app
}
