# Needs HTTP::Tiny and for https IO::Socket::SSL: on Debian the packages perl and libio-socket-ssl-perl.
my ($url, $limit) = ("https://rollcall.example.org/ping/UUID", 100000);
our $written = ""; # the end of the output

sub post_to { # HTTP::Tiny follows no redirect of a POST
    my ($to, $body, $redirects) = @_;
    my $answer = HTTP::Tiny->new(timeout => 5, max_redirect => 0)->post($to, { content => $body });
    my $next = $answer->{headers}{location};
    return $answer->{content} eq "OK" unless $next && $redirects;
    $next = ($to =~ m{^(\w+://[^/]+)})[0] . $next if $next =~ m{^/};
    return post_to($next, $body, $redirects - 1);
}

sub report {
    my ($path, $body) = @_;
    utf8::encode($body) if utf8::is_utf8($body);
    substr($body, 0, -$limit) = "" if length $body > $limit;
    for my $pause (1, 2, 0) {
        return if eval { require HTTP::Tiny; post_to($url . $path, $body, 5) };
        sleep $pause;
    }
    warn "ping failed" . ($@ ? ": $@" : "\n"); # and does not stop the job
}

report("/start", "");
{
    package Tee;
    sub TIEHANDLE { open my $file, ">&", $_[1] or die $!; bless { file => $file } }
    sub PRINTF { my ($self, $format, @list) = @_; $self->PRINT(sprintf $format, @list) }
    sub PRINT {
        my ($self, @list) = @_;
        my $text = join($, // "", @list) . ($\ // "");
        $written .= $text;
        substr($written, 0, -$limit) = "" if length $written > 2 * $limit;
        local ($,, $\);
        print { $self->{file} } $text;
    }
}
tie *STDOUT, "Tee", \*STDOUT;
tie *STDERR, "Tee", \*STDERR;
$SIG{__DIE__} = sub { $written .= $_[0] if defined $^S && !$^S };
END { my $status = $?; report("/$status", $written); $? = $status }

# Your code follows.
