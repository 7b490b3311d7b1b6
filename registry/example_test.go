package registry_test

import (
	"fmt"

	"airgap.dev/airgap/registry"
)

// A runtime asks its mirror for a path, and says beside it which upstream host
// it means; both together are the repository's name.
func ExampleRepositoryName() {
	fmt.Println(registry.RepositoryName("registry.k8s.io", "pause"))
	fmt.Println(registry.RepositoryName("docker.io", "nginx"))
	fmt.Println(registry.RepositoryName("quay.corp:8443", "team/app"))
	// Output:
	// registry.k8s.io/pause
	// docker.io/library/nginx
	// quay.corp_8443/team/app
}
