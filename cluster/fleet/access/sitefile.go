package access

import (
	"context"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
)

// The SSH settings of airgap.yaml are signed with the bundle. A file of the site replaces them where they have changed
// since: the file of --ssh-config, or else site.SSHFile. It comes with the context of a command, so that all commands
// with SSH have it.
type fileKey struct{}

// WithFile returns a context in which file replaces SSH settings of airgap.yaml; "" for none.
func WithFile(ctx context.Context, file string) context.Context {
	if file == "" {
		return ctx
	}
	return context.WithValue(ctx, fileKey{}, file)
}

// fileOf returns the file of the site; "" if there is none.
func fileOf(ctx context.Context) string {
	if file, is := ctx.Value(fileKey{}).(string); is {
		return file
	}
	if site.Exists(site.SSHFile) {
		return site.SSHFile
	}
	return ""
}

// Used reports whether airgap can log in on other hosts: airgap.yaml or a file of the site has the section ssh, and
// there are other hosts.
func Used(ctx context.Context, c *config.Cluster) bool {
	return len(c.Nodes) > 1 && (c.SSH != nil || fileOf(ctx) != "")
}

// Apply returns the configuration with the settings of the site's file, and a text with the fields that the file replaces.
// nodes are all nodes of airgap.yaml, also removed ones.
func Apply(ctx context.Context, c *config.Cluster, nodes []config.Node) (*config.Cluster, string, error) {
	file := fileOf(ctx)
	if file == "" {
		return c, "", nil
	}
	s, err := config.ReadSiteSSH(file)
	if err != nil {
		return nil, "", err
	}
	return s.Apply(c, nodes)
}
