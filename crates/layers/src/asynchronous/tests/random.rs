//! Random operations in a scope, and the same ones one after the other: outcomes, answers and what is left are the
//! same.

use model::{Index, LinkTarget, Order};

use super::*;
use crate::asynchronous::{Answer, start_link, start_read};

const STEPS: usize = 400;
const SEEDS: u64 = 300;

/// Numbers that follow from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// One operation, as numbers that both containers make the same of.
#[derive(Debug, Clone, Copy)]
struct Step {
    operation: usize,
    group: usize,
    other: usize,
    data: usize,
    name: usize,
    value: u8,
}

impl Step {
    fn random(numbers: &mut Numbers) -> Step {
        Step {
            operation: numbers.below(14),
            group: numbers.below(3),
            other: numbers.below(3),
            data: numbers.below(5),
            name: numbers.below(4),
            value: numbers.below(200) as u8,
        }
    }
}

/// A container with three groups and five datasets, all of them linked in the root group.
struct World {
    container: Arc<dyn Container>,
    groups: Vec<Token>,
    data: Vec<Token>,
}

/// What came of a step: at once, or later.
enum Outcome {
    Now(Result<String>),
    Queued(Vec<Request>),
    Later(Box<dyn FnOnce() -> Result<String>>),
}

impl Outcome {
    fn get(self) -> std::result::Result<String, Kind> {
        let all =
            |requests: Vec<Request>| requests.iter().try_for_each(|request| request.wait(LONG).unwrap());
        let outcome = match self {
            Outcome::Now(outcome) => outcome,
            Outcome::Queued(requests) => all(requests).map(|()| String::new()),
            Outcome::Later(answer) => answer(),
        };
        outcome.map_err(|error| error.kind())
    }
}

impl World {
    fn new(container: Arc<dyn Container>) -> World {
        let root = container.info().unwrap().root;
        let place = |kind: &str, n: usize| Some(LinkLocation::new(root, format!("{kind}{n}")));
        let group = |n| OpGroupCreate { place: place("g", n), ..OpGroupCreate::default() };
        let groups = (0..3).map(|n| container.group_create(&group(n)).unwrap()).collect();
        let dataset = |n| OpDatasetCreate {
            place: place("d", n),
            datatype: Datatype::native_int(1),
            committed: None,
            space: Dataspace::simple(&[8]).unwrap(),
            create: DatasetCreate::default(),
        };
        let data: Vec<Token> = (0..5).map(|n| container.dataset_create(&dataset(n)).unwrap()).collect();
        // Some are kept by handles.
        data[..2].iter().for_each(|data| container.retain(*data).unwrap());
        World { container, groups, data }
    }

    /// Queues a change; where nothing is queued it was made.
    fn change(&self, change: impl FnOnce(&dyn Container) -> Result<()>) -> Outcome {
        match requests(|| change(&*self.container)) {
            (Ok(()), queued) if !queued.is_empty() => Outcome::Queued(queued),
            (done, _) => Outcome::Now(done.map(|()| String::new())),
        }
    }

    fn ask<T: std::fmt::Debug + Send + 'static>(answer: Answer<T>) -> Outcome {
        Outcome::Later(Box::new(move || answer.wait(LONG).unwrap().map(|answer| format!("{answer:?}"))))
    }

    fn run(&self, step: Step) -> Outcome {
        let (group, other, data) = (self.groups[step.group], self.groups[step.other], self.data[step.data]);
        let (name, container) = (format!("l{}", step.name), &*self.container);
        let place = || LinkLocation::new(group, &*name);
        match step.operation {
            0 | 1 => self.change(|c| {
                c.dataset_write(&[OpWrite {
                    dataset: data,
                    selection: &Selection::All,
                    from: &[step.value; 8],
                }])
            }),
            2 => Self::ask(start_read(container, data, &Selection::All, 8)),
            3 | 4 => self
                .change(|c| c.link_create(&OpLinkCreate { place: place(), target: LinkTarget::Hard(data) })),
            5 | 6 => self.change(|c| c.link_delete(group, &name)),
            7 => {
                let (from, copy) = (group, step.value.is_multiple_of(2));
                let to = LinkLocation::new(other, format!("l{}", step.value % 4));
                self.change(|c| c.link_move(&OpLinkMove { from, name: name.clone(), to, copy }))
            }
            8 => Self::ask(start_link(container, group, &name)),
            9 => {
                let op = OpLookup { from: group, path: name, traversals_max: 8 };
                Self::ask(start(container, move |c| c.lookup(&op)))
            }
            10 => Self::ask(start(container, move |c| {
                c.object_info(data).map(|info| (info.references, info.attributes))
            })),
            11 => self.change(|c| c.attribute_create(&attribute(data, "a"))),
            12 => self.change(|c| c.attribute_delete(data, "a")),
            // The link in the root group, so that objects go.
            _ => {
                let root = container.info().unwrap().root;
                self.change(|c| c.link_delete(root, &format!("d{}", step.data)))
            }
        }
    }

    /// Returns a text with numbers for tokens, which differ between containers.
    fn named(&self, text: &str) -> String {
        let tokens = self.groups.iter().chain(&self.data).enumerate();
        tokens.fold(text.to_owned(), |text, (n, token)| text.replace(&format!("{token:?}"), &n.to_string()))
    }

    fn outcome(&self, outcome: Outcome) -> std::result::Result<String, Kind> {
        outcome.get().map(|text| self.named(&text))
    }

    /// Everything that is left.
    fn left(&self) -> String {
        let op = OpList { index: Index::Name, order: Order::Increasing, skip: 0, count_max: 100 };
        let links = |group: &Token| {
            let page = self.container.link_list(*group, &op).unwrap();
            page.entries.into_iter().map(|link| (link.name, link.target)).collect::<Vec<_>>()
        };
        let data = |data: &Token| {
            let mut bytes = [0; 8];
            let read = OpRead { dataset: *data, selection: &Selection::All, into: &mut bytes };
            let read = self.container.dataset_read(&mut [read]).map_err(|error| error.kind());
            let info = self.container.object_info(*data).map(|info| (info.references, info.attributes));
            (read, bytes, info.map_err(|error| error.kind()))
        };
        let links: Vec<_> = self.groups.iter().map(links).collect();
        let data: Vec<_> = self.data.iter().map(data).collect();
        self.named(&format!("{links:?} {data:?}"))
    }
}

fn worlds() -> (World, World) {
    let (create, access) = (FileCreate::default(), FileAccess::write());
    let memory = |name| MemoryConnector::new().create(&ContainerCreate::new(name, &create, &access)).unwrap();
    let parameters = &Stack::parse("async{threads=3}").unwrap().0.remove(0).parameters;
    let registry = Registry::none();
    let op = Wrap { inner: memory("x"), location: "x", parameters, made: None, access: &access, registry };
    (World::new(AsyncLayer.wrap(&op).unwrap()), World::new(memory("y")))
}

#[test]
fn random_operations_have_the_outcomes_that_they_have_one_by_one() {
    for seed in 0..SEEDS {
        let (queued, plain) = worlds();
        let mut numbers = Numbers(seed);
        let steps: Vec<Step> = (0..STEPS).map(|_| Step::random(&mut numbers)).collect();
        let expected: Vec<_> = steps.iter().map(|step| plain.outcome(plain.run(*step))).collect();
        let outcomes: Vec<Outcome> = steps.iter().map(|step| queued.run(*step)).collect();
        let outcomes: Vec<_> = outcomes.into_iter().map(|outcome| queued.outcome(outcome)).collect();
        for (at, step) in steps.iter().enumerate() {
            assert_eq!(outcomes[at], expected[at], "seed {seed}, step {at}: {step:?}");
        }
        assert_eq!(queued.left(), plain.left(), "seed {seed}");
    }
}
