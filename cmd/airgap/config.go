package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/config/inventory"
)

func configCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the nodes of airgap.yaml, and import lists of hosts",
		Long: `Show the nodes of airgap.yaml after its ranges, groups and defaults, and make nodes of a
list of hosts: a CSV file, or an inventory of Ansible.`,
		Example: "  airgap config show\n  airgap config import hosts.csv",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(configShowCommand(a), configImportCommand(a))
	return withFormats(cmd, asText)
}

func configShowCommand(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Check airgap.yaml and print its nodes, one for each server",
		Long: `Check airgap.yaml as airgap bundle does, and print its nodes: each range as the servers
that it stands for, with the fields of groups and defaults. The other commands work with
these nodes. The output is the section nodes of an airgap.yaml with the same nodes.`,
		Example: "  airgap config show -f airgap.yaml\n  airgap config show --output json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.finish(config.Show(file))
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "airgap.yaml", "configuration file")
	return withFormats(cmd, asText, asJSON)
}

const configImportLong = `Read the hosts of a list, check them, and print them as the section nodes of airgap.yaml.
--into adds them to an airgap.yaml instead, and changes nothing else in it; nodes that it
has with the same fields stay as they are. If anything is wrong in one of the files,
nothing is written. Each problem has its line and the expected value.

A CSV file has a header row with name, address and roles, and optionally rack, gpu (yes or
no), ssh_address, ssh_user, ssh_port, ssh_identity_file and ssh_host_key. The columns are
separated by commas, semicolons or tabs. Names and addresses can be ranges, such as
node[001-100] with 10.1.0.[11-110].

In an inventory of Ansible (INI or YAML), groups are roles: kube_control_plane and masters,
kube_node and workers, gpu. --group gives another group a role, or makes it a rack. The
variables ip, access_ip, ansible_host, ansible_port, ansible_user,
ansible_ssh_private_key_file and rack are read. airgap reads no group_vars, runs no program
and no template, and asks no name server; ansible-inventory -i FILE --list --yaml prints
one file with all values.

Other variables and columns are an error. --ignore leaves them out, and also the hosts that
are only in such a group. The output lists them. Passwords, keys and tokens are always an
error, and are not printed.`

func configImportCommand(a *app) *cobra.Command {
	var o inventory.Options
	var format string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Make nodes of a CSV file or an inventory of Ansible",
		Long:  configImportLong,
		Example: "  airgap config import hosts.csv\n  airgap config import hosts.csv --into airgap.yaml\n" +
			"  airgap config import inventory.ini --group apps=worker --group row7=rack --ignore ansible_become,bastion",
		Args: oneArg("a list of hosts"),
		RunE: func(_ *cobra.Command, args []string) error {
			if format != "" {
				if err := oneOf("format", format, string(inventory.CSV), string(inventory.INI), string(inventory.YAML)); err != nil {
					return advice.Add(err, "leave --format out if the name of the file ends in .csv, .ini, .yml or .yaml")
				}
			}
			o.File, o.Format = args[0], inventory.Format(format)
			return a.finish(inventory.Import(o))
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "format of the list: csv, ini or yaml; default: from its name, and ini without an extension")
	cmd.Flags().StringSliceVar(&o.Ignore, "ignore", nil, "variables, columns and groups to leave out; can be repeated")
	cmd.Flags().StringSliceVar(&o.Groups, "group", nil, "meaning of a group of the inventory: GROUP=control-plane, worker, gpu or rack; can be repeated")
	cmd.Flags().StringVar(&o.Into, "into", "", "airgap.yaml to add the nodes to; default: print them")
	return withFormats(cmd, asText, asJSON)
}
