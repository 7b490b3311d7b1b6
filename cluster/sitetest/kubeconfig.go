package sitetest

import "fmt"

// Kubeconfig returns a kubeconfig without credentials, for the API server at this URL.
func Kubeconfig(server string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
clusters: [{name: c, cluster: {server: %q}}]
`, server)
}
