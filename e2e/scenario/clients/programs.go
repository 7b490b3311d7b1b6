package clients

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"airgap.dev/airgap/e2e/lab/root"
	"airgap.dev/airgap/e2e/scenario"
)

// client is another project's program. Its scripts run in the same empty directory, with FROM
// (the object in airgap's registry), TO (the result), LOCAL (a name for the client's own copy),
// FROM_NAME and TO_NAME (without tags) and REFERRER (a digest).
type client struct {
	name            string
	programs        []string // that this machine must have
	dir             string   // of its programs, below the lab's directory of programs; PROGRAMS in the scripts
	engine          bool     // it is in the root of podman and Docker
	start           func(ctx context.Context, s *site, dir string) error
	image, artifact verbs
	index           verbs  // of an index, if they differ from those of an image
	onePlatform     string // why the client copies only its platform of an index
	noArtifacts     string // why the client has no verbs for them
	same            bool   // the client does not change manifests
	lists           bool   // the client also writes the list of referrers that older registries need
}

// verbs are scripts for sh. "copy" is from airgap's registry to registry:3, "push" is from the
// client's own copy to airgap's registry. "" is a verb that the client does not have.
type verbs struct{ pull, copy, push string }

func all() []client {
	return []client{
		{
			name: "crane", programs: []string{"crane"}, same: true, lists: true,
			image: verbs{
				`crane pull --format=oci "$FROM" "$LOCAL"`,
				`crane cp "$FROM" "$TO"`,
				`crane push "$LOCAL" "$TO"`,
			},
			artifact: verbs{
				`crane pull --format=oci "$FROM" "$LOCAL"; crane pull --format=oci "$FROM_NAME@$REFERRER" "$LOCAL-referrer"`,
				`crane cp "$FROM" "$TO"; crane cp "$FROM_NAME@$REFERRER" "$TO_NAME@$REFERRER"`,
				`crane push "$LOCAL" "$TO"; crane push "$LOCAL-referrer" "$TO_NAME@$REFERRER"`,
			},
		},
		{
			name: "oras", programs: []string{"oras"}, same: true, lists: true,
			image: verbs{
				`oras cp --to-oci-layout "$FROM" "$LOCAL:1"`,
				`oras cp "$FROM" "$TO"`,
				`oras cp --from-oci-layout "$LOCAL:1" "$TO"`,
			},
			artifact: verbs{
				`oras cp --recursive --to-oci-layout "$FROM" "$LOCAL:1"`,
				`oras cp --recursive "$FROM" "$TO"`,
				`oras cp --recursive --from-oci-layout "$LOCAL:1" "$TO"`,
			},
		},
		{
			name: "regctl", programs: []string{"regctl"}, same: true, lists: true,
			image: verbs{
				`regctl image copy "$FROM" "ocidir://$LOCAL:1"`,
				`regctl image copy "$FROM" "$TO"`,
				`regctl image copy "ocidir://$LOCAL:1" "$TO"`,
			},
			artifact: verbs{
				`regctl image copy --referrers "$FROM" "ocidir://$LOCAL:1"`,
				`regctl image copy --referrers "$FROM" "$TO"`,
				`regctl image copy --referrers "ocidir://$LOCAL:1" "$TO"`,
			},
		},
		skopeo(), podman(), docker(), containerd("ctr", "containerd"), containerd("ctr-2.4.2", newContainerd),
	}
}

func skopeo() client {
	return client{
		name: "skopeo", programs: []string{"skopeo"}, same: true,
		image: verbs{
			`skopeo copy --all --preserve-digests "docker://$FROM" "oci:$LOCAL:1"`,
			`skopeo copy --all --preserve-digests "docker://$FROM" "docker://$TO"`,
			`skopeo copy --all --preserve-digests "oci:$LOCAL:1" "docker://$TO"`,
		},
		artifact: verbs{
			`skopeo copy "docker://$FROM" "oci:$LOCAL:1"; skopeo copy "docker://$FROM_NAME@$REFERRER" "oci:$LOCAL:referrer"`,
			`skopeo copy "docker://$FROM" "docker://$TO"; skopeo copy "docker://$FROM_NAME@$REFERRER" "docker://$TO_NAME:referrer"`,
			`skopeo copy "oci:$LOCAL:1" "docker://$TO"; skopeo copy "oci:$LOCAL:referrer" "docker://$TO_NAME:referrer"`,
		},
	}
}

// podman has its own storage in the directory. The path of --runroot may have at most 50 characters.
func podman() client {
	const storage = `podman() { command podman --root "$PWD/root" --runroot /run/lab --storage-driver vfs "$@"; }; `
	return client{
		name: "podman", engine: true,
		image: verbs{
			storage + `podman pull "$FROM"`,
			storage + `podman push "$FROM" "docker://$TO"`,
			storage + `podman push "$FROM" "docker://$TO"`,
		},
		index: verbs{
			storage + `podman manifest create --all "$LOCAL" "docker://$FROM"; for a in amd64 arm64; do podman pull --arch $a "$FROM"; done`,
			storage + `podman manifest push --all "$LOCAL" "docker://$TO"`,
			storage + `podman manifest push --all "$LOCAL" "docker://$TO"`,
		},
		noArtifacts: "podman 4 has images only",
	}
}

// docker has its own daemon, without a network.
func docker() client {
	const on = `docker() { command docker --host "unix://$PWD/docker.sock" "$@"; }; `
	return client{
		name: "docker", engine: true,
		start: func(ctx context.Context, s *site, dir string) error {
			cmd := s.inEngines(ctx, `exec dockerd --data-root "$PWD/data" --exec-root "$PWD/exec" --pidfile "$PWD/pid" --host "unix://$PWD/docker.sock" `+
				`--bridge none --iptables=false --ip6tables=false --storage-driver vfs`)
			cmd.Dir, cmd.Env = dir, append(cmd.Env, s.environment(dir)...)
			if err := s.run(cmd, "docker.log"); err != nil {
				return err
			}
			return wait(ctx, filepath.Join(dir, "docker.sock"))
		},
		image: verbs{
			on + `docker pull "$FROM"`,
			on + `docker tag "$FROM" "$TO"; docker push "$TO"`,
			on + `docker tag "$FROM" "$TO"; docker push "$TO"`,
		},
		onePlatform: "its platform: docker manifest speaks HTTP to a registry on loopback",
		noArtifacts: "Docker has images only",
	}
}

// inEngines is a command that runs a script in the root of podman and Docker, with this machine's
// network and work directory. The root is a mount point, because Docker changes its propagation. The caller sets the directory, and adds to the environment.
func (s *site) inEngines(ctx context.Context, script string) *exec.Cmd {
	const enter = `mount --bind "$ENGINES" "$ENGINES"
mount -t tmpfs tmpfs "$ENGINES/run"
for dir in proc sys dev; do mount --rbind "/$dir" "$ENGINES/$dir"; done
mkdir -p "$ENGINES$WORK"
mount --bind "$WORK" "$ENGINES$WORK"
exec chroot "$ENGINES" env PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -euc 'cd "$0"; eval "$1"' "$PWD" "$0"`
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--propagation", "private", "sh", "-euc", enter, script)
	cmd.Env = []string{"ENGINES=" + s.engines, "WORK=" + s.Work}
	return cmd
}

// newContainerd is the directory of a newer containerd than that of the lab's servers.
const newContainerd = "containerd-2.4.2"

// containerd is a containerd with its ctr in a directory below the lab's programs. ctr fetches the
// manifests and configurations of all platforms by default. It takes a password only as an argument or
// at a terminal, so the scenario writes a token into the settings of the registry.
func containerd(name, dir string) client {
	const on = `ctr() { "$PROGRAMS/ctr" --address "$PWD/containerd.sock" "$@"; }; `
	const pull, push = on + `ctr images pull --hosts-dir "$PWD/hosts"`, `ctr images tag --force "$FROM" "$TO"; ctr images push --hosts-dir "$PWD/hosts" "$TO"`
	const fetch = on + `ctr content fetch --hosts-dir "$PWD/hosts" --all-platforms`
	const pushArtifact = push + `; ctr images push --hosts-dir "$PWD/hosts" "$TO_NAME@$REFERRER" "$FROM_NAME@$REFERRER"`
	return client{
		name: name, dir: dir, same: true,
		start: func(ctx context.Context, s *site, work string) error {
			return s.startContainerd(ctx, filepath.Join(s.bin(), dir), work)
		},
		image: verbs{
			pull + ` "$FROM"`,
			pull + ` --all-platforms "$FROM"; ` + push,
			on + push,
		},
		artifact: verbs{
			fetch + ` "$FROM"; ` + fetch + ` "$FROM_NAME@$REFERRER"`,
			on + pushArtifact,
			on + pushArtifact,
		},
	}
}

// startContainerd starts the containerd in bin.
func (s *site) startContainerd(ctx context.Context, bin, dir string) error {
	token, err := s.token(ctx)
	if err != nil {
		return err
	}
	const settings = `version = 3
root = %[1]q
state = %[2]q
disabled_plugins = ["io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri", "io.containerd.nri.v1.nri"]
[grpc]
address = %[3]q
[ttrpc]
address = "%[3]s.ttrpc"
`
	at := func(name string) string { return filepath.Join(dir, name) }
	file := at("config.toml")
	err = errors.Join(
		os.WriteFile(file, fmt.Appendf(nil, settings, at("root"), at("state"), at("containerd.sock")), 0o600),
		s.hostsFile(dir, s.ours, "Bearer "+token), s.hostsFile(dir, s.theirs, ""))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "containerd"), "--config", file)
	cmd.Env = s.environment(dir)
	if err := s.run(cmd, "containerd.log"); err != nil {
		return err
	}
	return wait(ctx, at("containerd.sock"))
}

// hostsFile writes containerd's settings of one registry.
func (s *site) hostsFile(dir, addr, authorization string) error {
	text := fmt.Sprintf("server = \"https://%[1]s\"\n[host.\"https://%[1]s\"]\ncapabilities = [\"pull\", \"resolve\", \"push\"]\nca = %[2]q\n", addr, s.ca)
	if authorization != "" {
		text += fmt.Sprintf("[host.\"https://%s\".header]\nAuthorization = %q\n", addr, authorization)
	}
	to := filepath.Join(dir, "hosts", addr)
	return errors.Join(os.MkdirAll(to, 0o700), os.WriteFile(filepath.Join(to, "hosts.toml"), []byte(text), 0o600))
}

// token returns a token for pushes, which is valid for five minutes.
func (s *site) token(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+s.ours+"/token", nil)
	if err != nil {
		return "", err
	}
	req.SetBasicAuth(scenario.Pusher, s.password)
	return tokenOf(s.transport.RoundTrip(req))
}

func wait(ctx context.Context, socket string) error {
	for range 300 {
		if _, err := os.Stat(socket); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s did not appear in 30 s", socket)
}

// buildPrograms builds the clients that are Go modules, and the root of podman and Docker.
func (s *site) buildPrograms(ctx context.Context) error {
	_, err := scenario.Crane(ctx, s.Env)
	if err == nil {
		s.engines, err = root.BuildEngines(ctx, s.Cache, s.Log)
	}
	if err != nil {
		return err
	}
	return errors.Join(
		s.install(ctx, "", "oras.land/oras/cmd/oras@v1.3.6"),
		s.install(ctx, "", "github.com/regclient/regclient/cmd/regctl@v0.11.7"),
		s.install(ctx, newContainerd, "github.com/containerd/containerd/v2/cmd/containerd@v2.4.2"),
		s.install(ctx, newContainerd, "github.com/containerd/containerd/v2/cmd/ctr@v2.4.2"))
}

// install builds a program of a module into a directory below the lab's programs.
func (s *site) install(ctx context.Context, dir, program string) error {
	build := exec.CommandContext(ctx, "go", "install", "-trimpath", "-ldflags", "-s -w", program)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOBIN="+filepath.Join(s.bin(), dir))
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", program, err, out)
	}
	return nil
}

// sameDigest checks that two references are the same manifest. The manifest may lack content.
func (s *site) sameDigest(ctx context.Context, refs ...string) error {
	var digests []string
	for _, ref := range refs {
		at, err := name.ParseReference(ref)
		if err != nil {
			return err
		}
		got, err := remote.Head(at, s.options(ctx)...)
		if err != nil {
			return err
		}
		if digests = append(digests, got.Digest.String()); digests[0] != got.Digest.String() {
			return fmt.Errorf("%s are %s", strings.Join(refs, " and "), strings.Join(digests, " and "))
		}
	}
	return nil
}
