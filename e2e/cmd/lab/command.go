package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/lab/root"
)

func command() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "lab",
		Short:         "A bank's servers on this machine, behind a real air gap",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	run := cmd.PersistentFlags().String("run", "hand", "name of the lab")
	cmd.AddCommand(upCommand(run), execCommand(run), shellCommand(run), stickCommand(run), powerCommand(run), logsCommand(run), downCommand(run), rootCommand(), prepareCommand(), runCommand(), demoCommand(), benchCommand())
	return cmd
}

func upCommand(run *string) *cobra.Command {
	return &cobra.Command{
		Use:   "up [N]",
		Short: "Boot N servers (2 when left out)",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			nodes := 2
			if len(args) == 1 {
				var err error
				if nodes, err = strconv.Atoi(args[0]); err != nil {
					return fmt.Errorf("read the number of servers: %w", err)
				}
			}
			cache, layers, err := buildRoot(cmd)
			if err != nil {
				return err
			}
			start := time.Now()
			l, err := lab.Up(cmd.Context(), lab.Config{Cache: cache, Run: *run, Nodes: nodes, Layers: layers})
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
}

func execCommand(run *string) *cobra.Command {
	return &cobra.Command{
		Use:   "exec NODE -- COMMAND [ARGUMENT...]",
		Short: "Run a command on a server; its exit status becomes this one's",
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
			c, ok := m.(*lab.Container)
			if !ok {
				return fmt.Errorf("open a shell on %s: it is not a container", args[0])
			}
			return c.Shell()
		},
	}
}

func stickCommand(run *string) *cobra.Command {
	return &cobra.Command{
		Use:   "stick NODE DIR|pull",
		Short: "Plug a directory in as a USB stick at " + lab.StickPath + ", or pull it",
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
		Short: "Cut a server's power, or give it back",
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
		Short: "Copy the logs of all servers out of the lab and print where to",
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
	return &cobra.Command{
		Use:   "down",
		Short: "Take the servers down and leave nothing behind",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := open(*run)
			if err != nil {
				return err
			}
			return l.Down(cmd.Context())
		},
	}
}

func rootCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "root", Short: "The disk every server starts from"}
	cmd.AddCommand(&cobra.Command{
		Use:   "build",
		Short: "Build it where it is missing or out of date",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, layers, err := buildRoot(cmd)
			for _, l := range layers {
				fmt.Fprintln(cmd.OutOrStdout(), l)
			}
			return err
		},
	})
	return cmd
}

func buildRoot(cmd *cobra.Command) (cache string, layers []string, err error) {
	cache, err = lab.CacheDir()
	if err != nil {
		return "", nil, err
	}
	cfg, err := root.ForUpstream(cache)
	if err != nil {
		return "", nil, err
	}
	layers, err = root.Build(cmd.Context(), cfg, cmd.ErrOrStderr())
	return cache, layers, err
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
