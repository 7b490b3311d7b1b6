package scenario

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/upstream"
)

// Demo shows the main workflow to a new user, with the real program, and prints the next
// steps. With keep, the servers run until ctx ends.
func Demo(ctx context.Context, program string, w io.Writer, keep bool) error {
	e, err := prepared(ctx, "demo", program, w, upstream.BuildDefault)
	if err != nil {
		return err
	}
	defer e.Upstream.Close()
	e.Terminal = true
	d := &demo{Env: e, w: w, began: time.Now()}
	err = e.WithServers(ctx, 2, func(l *lab.Lab) error {
		if err := d.bank(ctx, l); err != nil || !keep {
			return err
		}
		d.lookAround()
		<-ctx.Done() // Ctrl-C
		return nil
	})
	if err != nil {
		return err
	}
	d.summary()
	return os.RemoveAll(e.Work)
}

type demo struct {
	*Env
	w      io.Writer
	began  time.Time
	phases []phase
}

type phase struct {
	title string
	took  time.Duration
}

// scene prints a heading, runs one part of the demo and records its duration.
func (d *demo) scene(title, story string, run func() error) error {
	fmt.Fprintf(d.w, "\n\033[1m── %s ──\033[0m\n%s\n\n", title, story)
	began := time.Now()
	err := run()
	d.phases = append(d.phases, phase{title, time.Since(began)})
	return err
}

// shell prints a command as a user types it, and runs it.
func (d *demo) shell(ctx context.Context, m lab.Machine, line string) error {
	fmt.Fprintf(d.w, "\033[36m%s #\033[0m %s\n", m.Name(), line)
	r, err := d.On(ctx, m, "", "sh", "-c", line)
	if err != nil {
		return err
	}
	return r.Want(line, 0)
}

// bundle runs the command of the connected host, in the directory where a user runs it.
func (d *demo) bundle(ctx context.Context) error {
	if _, err := d.Config("airgap.yaml"); err != nil {
		return err
	}
	program, err := filepath.Abs(d.Program)
	if err != nil {
		return err
	}
	const line = "airgap bundle -f airgap.yaml --facts facts -o stick"
	fmt.Fprintf(d.w, "\033[36mconnected $\033[0m %s\n", line)
	cmd := exec.CommandContext(ctx, program, strings.Fields(line)[1:]...)
	cmd.Dir = d.Work
	r, err := d.Command(cmd)
	if err != nil {
		return err
	}
	if err := r.Want(line, 0); err != nil {
		return err
	}
	fmt.Fprintf(d.w, "\n\033[36mconnected $\033[0m ls -lh stick/bank\n")
	cmd = exec.CommandContext(ctx, "ls", "-lh", "stick/bank")
	cmd.Dir, cmd.Stdout, cmd.Stderr = d.Work, d.w, d.w
	return cmd.Run()
}

func (d *demo) bank(ctx context.Context, l *lab.Lab) error {
	first, worker := l.Machines[0], l.Machines[1]
	here := lab.StickPath + "/bank"
	var line JoinLine
	for _, s := range []struct {
		title, story string
		run          func() error
	}{
		{"1. In the bank: two servers without a route", "Real systemd, dnf and rpm; the network leads nowhere, and somewhere in it IP-in-IP is dropped.\nairgap survey writes down what each server is; the files go out on the stick.", func() error {
			fmt.Fprintf(d.w, "\033[36mnode1 #\033[0m cat /etc/redhat-release; ip route get 192.0.2.1\n")
			if _, err := d.On(ctx, first, "", "sh", "-c", "cat /etc/redhat-release; ip route get 192.0.2.1"); err != nil {
				return err
			}
			if err := NoRoute(ctx, first); err != nil {
				return err
			}
			fmt.Fprintf(d.w, "\033[36mnode1, node2 #\033[0m airgap survey --file /run/media/stick/facts/$(hostname).facts.yaml\n")
			return d.Survey(ctx, l.Machines...)
		}},
		{"2. On the connected host: one command fills the stick", "Images, RPMs with everything that these servers lack, the runtime: decided, fetched, read back, signed.", func() error {
			return d.bundle(ctx)
		}},
		{"3. The stick goes in: the key, the program, the checks", "Nothing on the server changes before every check has passed.", func() error {
			if err := first.AttachStick(ctx, filepath.Join(d.Work, "stick")); err != nil {
				return err
			}
			if err := d.shell(ctx, first, "cd "+here+" && rpm --import RPM-GPG-KEY-airgap && rpm -K airgap.rpm && rpm -U airgap.rpm 2>/dev/null"); err != nil {
				return err
			}
			return d.shell(ctx, first, "airgap preflight "+LabSkips+" "+here)
		}},
		{"4. airgap install", "Store, registry, packages by the host's own dnf, containerd, kubeadm, pod network: steps with a journal.", func() error {
			if err := d.shell(ctx, first, "airgap install "+LabSkips+" "+here); err != nil {
				return err
			}
			var err error
			line, err = d.JoinLine(ctx, first, worker.Name())
			return err
		}},
		{"5. The second server: one line and a join token", "No stick: everything comes from the first server's registry, checked against the signed index.", func() error {
			if err := d.InstallProgram(ctx, worker, filepath.Join(d.Work, "stick")); err != nil {
				return err
			}
			if err := worker.PullStick(ctx); err != nil {
				return err
			}
			fmt.Fprintf(d.w, "\033[36mnode2 #\033[0m %s\n", line.Line)
			r, err := d.On(ctx, worker, line.Code+"\n", append(strings.Fields(line.Line), LabSkips)...)
			if err != nil {
				return err
			}
			return r.Want(line.Line, 0)
		}},
		{"6. The verdict", "Informers watch until everything has held for a while; each running image is looked up in our registry by digest.", func() error {
			if err := d.shell(ctx, first, "airgap verify "+LabSkips); err != nil {
				return err
			}
			return d.shell(ctx, first, Kubectl+"get nodes,pods -A")
		}},
	} {
		if err := d.scene(s.title, s.story, s.run); err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
	}
	return nil
}

func (d *demo) lookAround() {
	fmt.Fprintf(d.w, "\nThe servers stay up until Ctrl-C. In another terminal:\n  cd e2e && go run ./cmd/lab --run demo shell node1\n")
}

func (d *demo) summary() {
	fmt.Fprintf(d.w, "\n\033[1m── From nothing to a verified cluster ──\033[0m\n")
	for _, p := range d.phases {
		fmt.Fprintf(d.w, "  %-58s %6.1f s\n", p.title, p.took.Seconds())
	}
	fmt.Fprintf(d.w, "  %-58s %6.1f s\n", "all of it", time.Since(d.began).Seconds())
	fmt.Fprintf(d.w, `
Where to look next:
  make demo KEEP=1        the same, and the servers stay up for a look around
  airgap --help           the commands; each has its own --help
  e2e/lab/README.md       what these servers are, and how to break them
  CONTRIBUTING.md         how the program is built, and how to add to it
`)
}
