package registry_test

import (
	"fmt"

	"airgap.dev/airgap/registry"
)

// A runtime sends its mirror the path and, separately, the upstream host. Both together are the
// name of the repository.
func ExampleRepositoryName() {
	fmt.Println(registry.RepositoryName("registry.k8s.io", "pause"))
	fmt.Println(registry.RepositoryName("docker.io", "nginx"))
	fmt.Println(registry.RepositoryName("quay.corp:8443", "team/app"))
	// Output:
	// registry.k8s.io/pause
	// docker.io/library/nginx
	// quay.corp_8443/team/app
}
