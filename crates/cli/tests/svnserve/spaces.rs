//! Clients that end their items with more white space than one byte: it is nothing said, also in
//! the middle of an edit, where anything said would end it. (The crate `svn`, an asynchronous client,
//! ends each item with ` ) \n`: that is one of the endings here.)

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use sapwood_testkit::{Programs, Repository, Server, Shape};

const GREETING: &str = "( 2 ( edit-pipeline svndiff1 absent-entries depth mergeinfo log-revprops ) \
                        URL 3:odd ( ) )";

/// A client that writes items with an ending of its own.
pub(crate) struct Client {
    stream: TcpStream,
    ending: &'static str,
    pub(crate) heard: Vec<u8>,
}

impl Client {
    /// Connects, and is let in as an anonymous user.
    pub(crate) fn connect(server: &Server, ending: &'static str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut client = Self { stream, ending, heard: Vec::new() };
        client.hear("( success ( 2 2 ");
        let url = server.url("repo");
        client.say(&GREETING.replace("URL", &format!("{}:{url}", url.len())));
        client.hear("ANONYMOUS");
        client.say("( ANONYMOUS ( 0: ) )");
        client.hear("mergeinfo ) ) ) ");
        client
    }

    pub(crate) fn say(&mut self, item: &str) {
        self.stream.write_all(format!("{item}{}", self.ending).as_bytes()).unwrap();
    }

    /// Reads up to `end`, which must come; what was read before is forgotten.
    pub(crate) fn hear(&mut self, end: &str) {
        self.heard.clear();
        let mut block = [0; 4096];
        let mut searched = 0;
        while !self.heard[searched..].windows(end.len()).any(|part| part == end.as_bytes()) {
            searched = self.heard.len().saturating_sub(end.len());
            let got = self.stream.read(&mut block).unwrap_or(0);
            assert!(got > 0, "wanted {end}, heard {}", self.heard.escape_ascii());
            self.heard.extend_from_slice(&block[..got]);
        }
        let text = String::from_utf8_lossy(&self.heard);
        assert!(!text.contains("( failure "), "{text}");
    }

    /// An edit after a report of revision 1: what the server sent.
    fn edit(&mut self, command: &str) -> Vec<u8> {
        self.say(command);
        self.say("( set-path ( 0: 1 true ( ) infinity ) )");
        self.say("( finish-report ( ) )");
        self.hear("( close-edit ( ) ) ");
        let edit = self.heard.clone();
        self.say("( success ( ) )");
        self.hear("( success ( ) ) ");
        edit
    }
}

#[test]
fn white_space_after_items_is_nothing_said() {
    let repo = Repository::scripted(&Shape::new("1.10"));
    let server = Server::start(&Programs::ours(), repo.parent(), &[]);
    let trunk = server.url("repo/trunk");
    let trunk = format!("{}:{trunk}", trunk.len());
    let all = |ending| {
        let mut client = Client::connect(&server, ending);
        let mut heard = Vec::new();
        heard.push(client.edit("( update ( ( 43 ) 0: true infinity false false ) )"));
        heard.push(client.edit("( status ( 0: true ( 43 ) infinity ) )"));
        heard.push(
            client.edit(&format!("( switch ( ( 43 ) 0: true {trunk} infinity false false ) )")),
        );
        heard
            .push(client.edit(&format!("( diff ( ( 43 ) 0: true false {trunk} true infinity ) )")));
        client.say("( replay ( 3 0 true ) )");
        client.hear("( finish-replay ( ) ) ( success ( ) ) ");
        heard.push(client.heard.clone());
        client.say("( replay-range ( 1 43 0 true ) )");
        client.hear("( finish-replay ( ) ) ( success ( ) ) ");
        heard.push(client.heard.clone());
        client.say("( get-latest-rev ( ) )");
        client.hear("( success ( 43 ) ) ");
        heard
    };
    // How a text is cut into chunks depends on what is kept of it: compare when all is kept.
    all(" ");
    let plain = all(" ");
    for ending in [" \n", "\n\n \n ", "  ", " \n                                        "] {
        for (odd, plain) in all(ending).iter().zip(&plain) {
            let at = odd.iter().zip(plain).take_while(|(a, b)| a == b).count();
            assert!(
                odd == plain,
                "items that end with {ending:?}: other bytes at {at}: {}, not {}",
                odd[at.saturating_sub(60)..].escape_ascii(),
                plain[at.saturating_sub(60)..].escape_ascii()
            );
        }
    }
}
