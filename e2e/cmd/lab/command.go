package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

func command() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "lab",
		Short:         "A bank's servers on this machine, behind a real air gap",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	run := cmd.PersistentFlags().String("run", "hand", "name of the lab")
	cmd.AddCommand(upCommand(run), execCommand(run), shellCommand(run), stickCommand(run), powerCommand(run), logsCommand(run), downCommand(run), rootCommand(), prepareCommand(), runCommand(), demoCommand(), benchCommand(), informersCommand(), netfaultsCommand(), podfaultsCommand())
	return cmd
}

func upCommand(run *string) *cobra.Command {
	var gpus, emulated int
	cmd := &cobra.Command{
		Use:   "up [N]",
		Short: "Boot N containers (default 2), then containers with GPUs, then emulated machines",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			nodes, err := kinds(args, gpus, emulated)
			if err != nil {
				return err
			}
			cfg, err := build(cmd, *run, nodes)
			if err != nil {
				return err
			}
			start := time.Now()
			l, err := lab.Up(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			for _, m := range l.Machines {
				fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", m.Name(), m.Addr())
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "up in %.1f s\n", time.Since(start).Seconds())
			return nil
		},
	}
	cmd.Flags().IntVar(&gpus, "gpu", 0, "number of containers with two H100 each, after the others")
	cmd.Flags().IntVar(&emulated, "emulated", 0, "number of servers with their own kernel, after the containers")
	return cmd
}

// kinds returns the kinds of servers for N, --gpu and --emulated.
func kinds(args []string, gpus, emulated int) ([]lab.Kind, error) {
	containers := 0
	switch {
	case len(args) == 1:
		var err error
		if containers, err = strconv.Atoi(args[0]); err != nil || containers < 0 {
			return nil, fmt.Errorf("read the number of servers %q: want 0 or more", args[0])
		}
	case gpus == 0 && emulated == 0:
		containers = 2
	}
	if gpus < 0 || emulated < 0 {
		return nil, fmt.Errorf("read --gpu %d and --emulated %d: want 0 or more", gpus, emulated)
	}
	return slices.Concat(lab.KindContainer.Times(containers), lab.KindHopper.Times(gpus), lab.KindEmulated.Times(emulated)), nil
}

// build creates the missing disk images for these kinds of servers.
func build(cmd *cobra.Command, run string, nodes []lab.Kind) (lab.Config, error) {
	cache, err := lab.CacheDir()
	if err != nil {
		return lab.Config{}, err
	}
	cfg := lab.Config{Cache: cache, Run: run, Nodes: nodes}
	err = cfg.Build(cmd.Context(), cmd.ErrOrStderr())
	return cfg, err
}

func execCommand(run *string) *cobra.Command {
	return &cobra.Command{
		Use:   "exec NODE -- COMMAND [ARGUMENT...]",
		Short: "Run a command on a server and exit with its exit status",
		Args:  cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := machine(*run, args[0])
			if err != nil {
				return err
			}
			return m.Exec(cmd.Context(), lab.Cmd{Args: args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
		},
	}
}

func shellCommand(run *string) *cobra.Command {
	return &cobra.Command{
		Use:   "shell NODE",
		Short: "Open a root shell on a server",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := machine(*run, args[0])
			if err != nil {
				return err
			}
			c, ok := m.(interface{ Shell() error })
			if !ok {
				return fmt.Errorf("open a shell on %s: %w", args[0], errors.ErrUnsupported)
			}
			return c.Shell()
		},
	}
}

func stickCommand(run *string) *cobra.Command {
	return &cobra.Command{
		Use:   "stick NODE DIR|pull",
		Short: "Attach a directory as a USB stick at " + lab.StickPath + ", or remove it",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := machine(*run, args[0])
			if err != nil {
				return err
			}
			if args[1] == "pull" {
				return m.PullStick(cmd.Context())
			}
			return m.AttachStick(cmd.Context(), args[1])
		},
	}
}

func powerCommand(run *string) *cobra.Command {
	return &cobra.Command{
		Use:   "power NODE on|off",
		Short: "Switch the power of a server on or off",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := machine(*run, args[0])
			if err != nil {
				return err
			}
			switch args[1] {
			case "on":
				return m.Start(cmd.Context())
			case "off":
				return m.Kill(cmd.Context())
			}
			return fmt.Errorf("switch the power of %s %q: want on or off", args[0], args[1])
		},
	}
}

func logsCommand(run *string) *cobra.Command {
	return &cobra.Command{
		Use:   "logs",
		Short: "Copy the logs of all servers out of the lab and print their directory",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := open(*run)
			if err != nil {
				return err
			}
			dir, err := l.SaveLogs(cmd.Context())
			fmt.Fprintln(cmd.OutOrStdout(), dir)
			return err
		},
	}
}

func downCommand(run *string) *cobra.Command {
	var hosts string
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the servers and remove all files of the lab",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if hosts != "" {
				return cleanHosts(cmd, hosts)
			}
			l, err := open(*run)
			if err != nil {
				return err
			}
			return l.Down(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&hosts, "hosts", "", "instead remove the changes of a run "+hostsHelp)
	return cmd
}

// cleanHosts removes the changes that a run of scenarios left on hosts outside the lab.
func cleanHosts(cmd *cobra.Command, file string) error {
	hosts, err := lab.ReadHosts(file)
	if err != nil {
		return err
	}
	return scenario.Clean(cmd.Context(), lab.OpenHosts("", "", hosts), cmd.ErrOrStderr())
}

func rootCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "root", Short: "The disk images of the servers"}
	cmd.AddCommand(&cobra.Command{
		Use:   "build",
		Short: "Build the images that are missing or out of date",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := build(cmd, "", []lab.Kind{lab.KindContainer, lab.KindEmulated})
			for _, path := range append(cfg.Layers, string(cfg.Image)) {
				fmt.Fprintln(cmd.OutOrStdout(), path)
			}
			return err
		},
	})
	return cmd
}

func open(run string) (*lab.Lab, error) {
	cache, err := lab.CacheDir()
	if err != nil {
		return nil, err
	}
	return lab.Open(cache, run)
}

func machine(run, name string) (lab.Machine, error) {
	l, err := open(run)
	if err != nil {
		return nil, err
	}
	return l.Machine(name)
}
