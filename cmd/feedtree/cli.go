package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// terminal is where a command reads and writes.
type terminal struct {
	In       io.Reader
	Out, Err io.Writer
}

// cli is the command line: flags here work for every command.
type cli struct {
	Config  kong.ConfigFlag  `help:"Read flags from a file of KEY = VALUE lines, named like the flags. Flags and environment outrank it." placeholder:"FILE" env:"-"`
	Version kong.VersionFlag `help:"Print the version and exit." env:"-"`
	logFlags

	Proxy      proxyCmd   `cmd:"" help:"Serve feeds to your news reader, pushed instead of polled."`
	Doctor     doctorCmd  `cmd:"" help:"Say what works, and what to do about the rest."`
	Publish    publishCmd `cmd:"" help:"Push what is new in a feed's file to its subscribers, signed."`
	Follow     followCmd  `cmd:"" help:"Print a feed's items as they arrive."`
	Keygen     keygenCmd  `cmd:"" help:"Make a publisher's keys and what announces them in the feed."`
	Key        keyCmd     `cmd:"" help:"Rotate, revoke and show a publisher's keys; pin those of a feed."`
	Verify     verifyCmd  `cmd:"" help:"Check what a feed announces of its keys, as a subscriber does."`
	Inspect    inspectCmd `cmd:"" help:"Show what a client sees in a feed."`
	OPML       opmlCmd    `cmd:"" name:"opml" help:"Put the proxy in front of every feed of a reader's list, and take it away."`
	Archive    archiveCmd `cmd:"" help:"Check, search, export and import what a proxy keeps."`
	Score      scoreCmd   `cmd:"" help:"Say from a server's access log how well its feeds' readers behave."`
	Demo       demoCmd    `cmd:"" help:"Run a small network on this machine and watch items flow."`
	Sim        simCmd     `cmd:"" help:"Simulate up to a million nodes and set what they do beside the targets."`
	Bench      benchCmd   `cmd:"" help:"Measure the ways events travel, and the archive."`
	VersionCmd versionCmd `cmd:"" name:"version" help:"Print the version."`
}

const description = `News feeds as push, with no operator: subscribers of a feed form a tree and hand each new item on.

Start with "feedtree proxy" and give your reader addresses like http://127.0.0.1:8089/feed/https://example.org/feed.xml. "feedtree demo" shows it all on this machine. "feedtree COMMAND --help" has examples.

Every flag can also be set in the environment (--poll-min is FEEDTREE_POLL_MIN) or in a --config file.`

// The exit codes.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitNotHeld = 3
)

// coded is an error with an exit code of its own.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

// run parses the arguments, runs the command and returns the exit code. The
// first interrupt ends the command cleanly, the second at once.
func run(args []string, t terminal) int {
	var c cli
	var files configFiles
	exited := -1
	parser, err := kong.New(&c, kong.Name("feedtree"), kong.Description(description),
		kong.DefaultEnvars("FEEDTREE"), kong.Configuration(files.load),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Vars{"version": version(), "latency_file": latencyFile}, kong.Writers(t.Out, t.Err),
		kong.Exit(func(code int) { exited = code; panic(exiting{}) }))
	if err != nil {
		panic("feedtree: the command line's own definition: " + err.Error())
	}
	parsed, err := parse(parser, args)
	if exited >= 0 {
		return exited
	}
	if err != nil {
		fmt.Fprintf(t.Err, "feedtree: %v\n%s\n", files.locate(err), hint(err))
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	parsed.BindTo(ctx, (*context.Context)(nil))
	return report(parsed.Run(t, c.logger(t.Err)), t.Err)
}

// exiting unwinds a parse that printed help or the version.
type exiting struct{}

func parse(parser *kong.Kong, args []string) (ctx *kong.Context, err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(exiting); !ok {
				panic(r)
			}
		}
	}()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	return parser.Parse(args)
}

// hint points to the help of the command at fault.
func hint(err error) string {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context != nil && wrong.Context.Selected() != nil {
		return "Try: feedtree " + wrong.Context.Selected().Name + " --help"
	}
	return "Try: feedtree --help"
}

// report tells of an error and returns the exit code.
func report(err error, w io.Writer) int {
	if err == nil || errors.Is(err, context.Canceled) {
		return 0
	}
	fmt.Fprintf(w, "feedtree: %v\n", err)
	var c coded
	if errors.As(err, &c) {
		return c.code
	}
	return exitFailed
}
